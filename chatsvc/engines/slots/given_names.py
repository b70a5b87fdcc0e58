"""First names common in Turkey and in the English-speaking world, folded: a weak cue ("ben ayşe", "i'm jane") needs one of them
where the writer does not use capitals. Names that are ordinary words first (umut, deniz, will, may) stand apart."""

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

NAMES = frozenset(_TURKISH.split()) | frozenset(_ENGLISH.split())
