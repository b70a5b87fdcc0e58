"""First names common in Turkey, in the English-speaking world and among visitors of both, and common surnames, all folded.

A weak cue ("ben ayşe", "i'm jane") needs one of them where the writer does not use capitals.
"""

from __future__ import annotations

_TURKISH = """
abdullah adem adil adnan ahmet akif ali alican alihan alper alperen alp altan arda arif asli asuman atakan atilla
ayberk aybuke aycan ayca ayfer aygul ayhan aykut ayla aylin aynur aysegul aysel aysen aysenur ayse aysun ayten azra
baran baris basak batuhan bayram bedia begum behcet bekir belgin belma beren berfin berk berkay berke berkan berna
berrin beste betul beyza bilal bilge binnur birgul birol birsen bora buket burak burhan burcu busra cagatay cagla
cagri canan cansu celal cem cemal cemil cemile cemre cenk cengiz ceren cevdet ceyda ceylan cigdem coskun damla defne
demet derya didem dilan dilara dilek doga dogan dogukan dursun duygu ebru ece ecem eda edanur efe ege ekrem ela elif
elcin emel emin emine emir emrah emre ender engin enes ercan erdal erdem erdinc eren ergin ergun erhan erkan erkut
erol ersin ertan ertugrul esin esma esra evren eylem eymen ezgi fadime fahri faruk fatih fatma fatos feray ferdi
ferhat feride feyza figen fikret filiz firat funda furkan gamze gizem gokce gokcen gokhan gokmen gonca gonul gulay
gulcan gulden gulen guler gulhan gulizar gulnur gulsah gulsen gulsum gulten gunes gunay gurkan gursel guven hacer
hakan hakki haldun hale halil halime halit haluk hamdi hamza handan hande harun hasan hatice havva haydar hayriye
hazal hulya huseyin husnu hikmet hilal hilmi hira ibrahim idil idris ihsan ilayda ilhan ilkay ilker ilknur inci ipek
irem irfan isa ismail ismet kaan kader kadir kadriye kamil kazim kemal kenan kerem kerim kezban koray korkut kubilay
kubra kursat lale latife levent leyla mahmut mehmet melahat melek melih melike melis meltem meral mert merve meryem
mesut metehan metin mina miray mirac mithat muammer muhammed muhammet muharrem muhsin mukaddes murat musa mustafa
muzaffer mucahit mujde mujgan munevver nadir nalan nazan nazim nazli nebahat necati necdet necla neriman neslihan
nesrin nevin nevzat nihal nihat nil nilay nilgun nilufer nimet nisa niyazi nur nuran nuray nurcan nurdan nurettin
nurgul nurhan nuri nursel nurten okan oktay olcay onur orhan osman oya oyku ozan ozcan ozge ozgur ozkan ozlem ozan
pelin perihan pinar polat ramazan rana recep refik remzi resul rifat riza ruya saadet sabri sadik safak safiye salih
salim samet sami saniye savas seda sedat sefa seher selahattin selami selcan selcuk selda selen selim selin selma
semih semiha semra sena senem serap sercan serdar serhat serkan serpil sertac servet sevcan sevda sevgi sevil sevilay
sevim sevinc seyfi seyit sezen sezer sezgin sibel sila simge sinan sinem songul suat sukran sukru suheyla suleyman
sultan suna suzan sule saban sahin seyma sebnem seref sevket tahir tahsin taner tarik tarkan tayfun taylan teoman
tevfik tolga tolgahan toprak tugba tugce tugrul tulay tuncay tuncer turan turgay turgut turhan turkan ufuk ugur ulas
umit umut utku ulku vedat veli veysel volkan yahya yakup yalcin yaman yasar yasemin yasin yavuz yeliz yesim yeter
yildiray yildiz yigit yilmaz yunus yusuf zafer zehra zeki zekiye zeliha zerrin zeynel zeynep ziya zubeyde zuhal zulal
zumra can deniz
"""
_ENGLISH = """
aaron abigail adam adrian aidan alan albert alex alexander alexandra alice alison amanda amber amelia amy andrea
andrew andy angela anita ann anna anne annie anthony antonio april arthur ashley audrey barbara ben benjamin bernard
beth betty bill billy bob bobby brad bradley brandon brenda brian bridget bruce bryan caleb cameron carl carla carlos
carmen carol caroline catherine charles charlie charlotte chloe chris christina christine christopher cindy claire
clara colin connor craig crystal cynthia daisy dan daniel daniela danny darren dave david dawn dean deborah debra
dennis derek diana diane dominic donald donna doris dorothy doug douglas duncan dylan ed eddie edith edward edwin
eileen elaine eleanor elena elizabeth ella ellen ellie emily emma eric erica erin ethan eva evan eve evelyn fiona
frances francis frank fred freddie gabriel gareth gary gavin gemma geoffrey george gerald gina glenn gloria gordon
grace graham greg gregory hannah harriet harry hazel heather helen henry holly howard hugh ian imogen irene isaac
isabel isabella isla ivy jack jackie jackson jacob jade jake james jamie jan jane janet janice jason jasmine jay jean
jeff jeffrey jen jennifer jenny jeremy jerry jess jesse jessica jill jim jimmy joan joanna joanne jodie joe joel john
johnny jon jonathan jordan jorge jose joseph josh joshua joyce juan judith judy julia julian julie june justin karen
kate katherine kathleen kathryn katie kay keith kelly ken kenneth kerry kevin kieran kim kimberly kirsty kyle larry
laura lauren leah lee leo leon leonard leslie lewis liam lily linda lisa liz logan lorraine louis louise lucas lucy
luis luke lydia lynn madison maggie marcus margaret maria marie marilyn martha martin marvin mary mason mateo matt
matthew maureen max maya megan mel melanie melissa mia michael michelle miguel mike mohamed mohammed molly monica
morgan naomi natalie natasha nathan neil nicholas nick nicola nicole nigel noah nora norman oliver olivia oscar owen
paige pam pamela patricia patrick paul paula pauline pedro peter phil philip phoebe polly priya rachel ralph raymond
rebecca reza rhys richard rick rob robert robin rodney roger ron ronald rosa rosie ross roy ruby russell ruth ryan
sally sam samantha samuel sandra sara sarah scott sean sebastian seth shannon sharon shaun sheila shirley simon
siobhan sofia sonia sophia sophie stacey stella stephanie stephen steve steven stewart stuart sue susan suzanne sylvia
tara ted teresa terry tess thelma theo theresa thomas tim timothy tina toby todd tom tommy tony tracey tracy trevor
tyler valerie vanessa vera veronica victor victoria vincent violet virginia vivian walter wanda warren wayne wendy
wesley william yvonne zachary zoe
"""
_OTHER = """
omer melisa huma goktug gokturk alparslan yagiz ediz uras miran berat ensar eray taha talha ilteris ebrar beril bengisu berfu berin
cansel cagin cansin ceylin dilsah eflin eliz elvin erva esila gokcenur gulnaz ilgin iclal isil jale larin leman mahinur mehtap meliha
melodi merih mihrimah miraynaz nazlican nesibe nilsu nurseli nursena ozden pelinsu perran rengin rumeysa rukiye sahika sarp sedef
selenay semiramis serenay simal sinemis sumeyye sumeyra sirma tilbe ulviye vuslat yelda zerda zeynepnur zisan abdurrahman abdulkadir
aliriza altug anil atahan aydemir aykan aytac baha bahadir berkcan bugra burakhan cahit caner cihat cuneyt dogancan ekber emirkan enis
ercument erdi ersan ersel eyup fahrettin feridun feyyaz fikri gencay gokberk gorkem gultekin gungor gurcan gurhan hulusi huzeyfe
iskender kadri kamuran kemalettin kutlay lokman mansur mazhar mertcan mesih mirza muhittin mumtaz munir nahit naim namik necip nejat
oguzcan onder osmancan raif ramiz rasim rasit recai refet rustem sadettin samim sarper selman sadi senol serdal serhan seyfettin
suavi sukrullah tacettin tamer tarhan tayyar timur tufan tugrulhan tunahan ubeyd ulvi vahap vecdi vehbi yavuzhan yilmazcan zeynal
zubeyir
mark alev claude sibel nuri leyla wendy elsa hugo theo georgia ines
omar ahmed ali hamid hassan hussein ibrahim khalid khaled yousef youssef yusuf fatima aisha layla leila maryam amina karim tariq rashid
nadia samira noor zara zainab bilal imran faisal saeed abdul mariam rania dina mona salma olga natalia svetlana irina elena tatiana
ekaterina anastasia ivan sergei sergey dmitri dmitry vladimir mikhail nikolai alexei andrei igor oleg boris yuri viktor yulia ksenia
oksana larisa galina ludmila marina polina daria katya sasha anya hans klaus jurgen wolfgang heinz dieter uwe stefan stefanie matthias
andreas markus jens lars sven birgit heike sabine petra ursula ingrid greta heidi anja katja lena lukas jonas felix moritz pierre jean
jacques luc francois michel philippe olivier antoine julien mathieu camille amelie chloe celine aurelie sylvie brigitte monique giulia
giovanni marco matteo luca paolo francesca chiara alessandro alessandra lorenzo roberto sofia lucia pablo carlos javier diego alejandro
fernando ricardo eduardo miguel pilar ines marta beatriz joao rui priya raj rahul amit anjali sanjay vijay deepak sunita neha pooja
arjun ravi kumar mei wei ming chen yuki hiroshi kenji akira sakura jin minh anh linh nguyen pawel piotr agnieszka katarzyna malgorzata
tomasz krzysztof jakub zofia mateusz milos dragan goran zoran nikola jelena milica ivana tamara aleksandar bojan vesna
georgi dimitar petar yorgos giorgos dimitris nikos eleni maria katerina astrid erik bjorn magnus freya sigrid liv mikkel anders
kwame kofi chidi ngozi emeka oluwaseun tunde amara thandi sipho alfie archie harvey riley mila isla poppy rosie millie evie
gracie ollie olly callum rory finlay euan niamh aoife ciara orla declan padraig brendan conor cillian rhiannon gwen dylan owen ishmael
barney bertie billie bobbie charley connie effie elsie ernie ettie flora freda gail gerry gus hattie ida ike jez jools kit lena
lenny lexi lottie mabel maisie mandy marge mick mitch moe myra ned nell nina nita olga patsy pippa polly reg rita robbie roxy sadie sid
skye tanya tilly trish trudy vicky viv winnie zack zac zelda ishaan xavier yasmin yasmine priscilla dolores esther miriam
tekin buse simay ceyhun kutay tugberk ahsen zehranur elanur nisanur hiranur azra asel alya lina defne ekin kivanc kayra doruk
aras cinar gurbuz hidir hizir ihsan kazim mazlum mehdi orkun oguz oguzhan ogun ongun orcun rauf seyda seyhan sirin sitki
suleyha sureyya tanju tarcin tezer tijen timucin tulin turker ulku umran vildan yekta yonca yucel zeynel zuleyha alara asya aleyna
berra bade duru dila ecrin eslem gokce hifa ikra irem nehir naz oyku pera rabia ravza ronya ruzgar sude selvi tuana yaprak zumra
bahar yagmur nur gul tunc tugay cengizhan emirhan alihan batu can dorukhan emircan enver fevzi galip hasim ilyas kayhan
lutfi macit nusret ozay rusen sahap tezcan ugurcan vahit yener zihni huseyin muge ozgun selay serra sezin sibel tansu elvan
"""
_SURNAMES = """
yilmaz kaya demir celik sahin yildiz yildirim ozturk aydin ozdemir arslan dogan kilic aslan cetin kara koc kurt ozkan simsek polat korkmaz
ozcan cakir erdogan yavuz can acar sen aktas guler yalcin gunes bozkurt bulut keskin unal turan gul ozer isik kaplan avci sari tekin tas
koksal ozmen ates aksoy tan aksu karaca coskun duman ekinci erdem erol gok gunduz karakaya karatas kaymak kose oguz onal ozen peker sezer
soylu tuncer uysal uzun yaman yuksel akin akbas albayrak altun arikan ayhan balci bayrak bilgin cinar demirci dincer durmaz duru ercan
ergun ersoy erturk esen gokce guven karadag kartal kocak kucuk mutlu ozbek saglam sarac sonmez tok toprak topal turk tutar ulusoy uslu
vural yazici zengin toker ozgur oztas erkan
smith jones taylor brown williams wilson johnson davies robinson wright thompson evans walker white roberts green hall wood jackson clarke
clark harris lewis turner baker cooper hill moore ward morris king lee harrison morgan allen james scott phillips watson davis parker price
bennett young griffiths mitchell kelly cook carter richardson bailey collins bell shaw murphy miller cox richards khan marshall anderson
simpson ellis adams singh begum wilkinson foster chapman powell webb rogers gray mason ali hunt hussain campbell matthews owen palmer
holmes mills barnes knight lloyd butler russell barker fisher stevens jenkins murray dixon harvey graham pearson fletcher walsh brennan
byrne ryan sullivan doyle garcia martinez rodriguez lopez gonzalez hernandez perez sanchez nguyen tran patel sharma doe novak ivanov
petrov mueller schmidt schneider fischer weber meyer wagner becker hoffmann rossi russo ferrari bianchi dubois moreau laurent silva santos
"""

SURNAMES = frozenset(_SURNAMES.split())
NAMES = frozenset(_OTHER.split()) | frozenset(_TURKISH.split()) | frozenset(_ENGLISH.split())
