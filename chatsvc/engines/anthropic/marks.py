"""Marks of reasoning and of chat templates, which servers in the house leave in a model's text.

They are cut by their general form, since each model family has its own names: `<think>`, `[THINK]`, `<|begin_of_thought|>`,
`<|channel|>analysis<|message|>`, `<|im_end|>`, `<end_of_turn>`, `</s>`, `[/INST]`.
"""

import re

_THOUGHT = r"(?:[a-z]{1,12}[:_])?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)"
_THOUGHT_MARK = re.compile(
    r"(?P<close_bracket>[<\[]/)?"
    rf"(?(close_bracket)|[<\[◁](?P<close>/)?[|｜]?(?P<bar_close>/|end_(?:of_)?)?(?:begin_of_|start_(?:of_)?)?){_THOUGHT}[|｜]?[>\]▷]",
    re.IGNORECASE,
)
# <|channel|>analysis<|message|>, <|channel>thought
_CHANNEL = re.compile(r"<\|?channel\|?>\s{0,3}(?P<name>[a-z]{1,20})[^<]{0,80}(?:<\|?message\|?>|\n)", re.IGNORECASE)
_CHANNEL_END = re.compile(r"<channel\|>", re.IGNORECASE)
_ROLE = r"(?P<role>[a-z]{1,12})"
_TURN = re.compile(
    rf"<[|｜](?:start_header_id|im_start|start|start_of_role)[|｜]>\s{{0,3}}{_ROLE}(?:<[|｜](?:end_header_id|im_sep|end_of_role)[|｜]>)?\n?"
    rf"|<start_of_turn>\s{{0,3}}(?P<gemma>[a-z]{{1,12}})\n?"
    r"|<[|｜](?P<bare>assistant|model|user|system|human)[|｜]>\n?",
    re.IGNORECASE,
)
_OWN_ROLES = frozenset({"assistant", "model", "bot", "ai"})
# A tool's mark is left: the review has to see it.
_END = re.compile(
    r"<[|｜](?!/?(?:tool|python_tag|call))[^<>|｜\s]{0,40}(?:end|eot|eom|eos|return|stop)[^<>|｜\s]{0,40}[|｜]>|</s>|<end_of_turn>|<eos>|\[/INST\]",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"<[|｜](?!/?(?:tool|python_tag|call))[^<>|｜\s]{1,60}[|｜]>|</?s>|<(?:start|end)_of_turn>|<[be]os>|<pad>|\[/?INST\]|<</?SYS>>"
)


def without_thoughts(text: str) -> str:
    """Return what a model says to the visitor. Its thoughts, the marks around them, and turns that it made up are cut.

    The opening mark of a thought often belongs to the chat template, so that only the closing one is there; if max_tokens ended the
    thinking, only the opening one.
    """
    if not any(sign in text for sign in "<[◁"):
        return text
    return without_tokens(_own_turn(_outside_thoughts(_of_final_channel(text))))


def without_tokens(text: str) -> str:
    """Remove tokens of chat templates. A server would read them as the end of a message."""
    return _TOKEN.sub("", _TURN.sub("", text)) if "<" in text or "[" in text else text


def _of_final_channel(text: str) -> str:
    """Return the text of the channel for the visitor. Text outside of channels belongs to it."""
    parts, end = [(match.start(), match.end(), match["name"].lower()) for match in _CHANNEL.finditer(text)], 0
    if not parts:
        return text
    said = [text[: parts[0][0]]]
    for (_, begin, name), following in zip(parts, [*(start for start, _, _ in parts[1:]), len(text)], strict=True):
        content = text[begin:following]
        ending = _CHANNEL_END.search(content)
        if name == "final":
            said.append(content)
        elif ending is not None:
            said.append(content[ending.end() :])
        end = following
    return "".join((*said, text[end:]))


def _outside_thoughts(text: str) -> str:
    said, begin, depth = list[str](), 0, 0
    for match in _THOUGHT_MARK.finditer(text):
        closes = bool(match["close_bracket"] or match["close"] or match["bar_close"])
        if closes:
            if depth == 0:
                said.clear()  # everything before was a thought whose opening mark the template has
            depth = 0
        else:
            if depth == 0:
                said.append(text[begin : match.start()])
            depth = 1
        begin = match.end()
    return "".join(said) if depth else "".join((*said, text[begin:]))


def _own_turn(text: str) -> str:
    """Cut a text where the model's turn ends, and where it goes on as somebody else."""
    text = text.lstrip()
    while (turn := _TURN.match(text)) is not None and (turn["role"] or turn["gemma"] or turn["bare"]).lower() in _OWN_ROLES:
        text = text[turn.end() :].lstrip()
    ends = [match.start() for pattern in (_END, _TURN) if (match := pattern.search(text)) is not None and match.start() > 0]
    return text[: min(ends)] if ends else text
