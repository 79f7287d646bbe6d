"""Complete command lines in bash, zsh and fish.

The shell runs `barnabas` with the text before the cursor in `_BARNABAS_COMPLETE`. Each line of the output is a possible
word, a tab, and its description.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from barnabas.cli.commands import COMMANDS, SUBCOMMANDS, find_command, module_of
from barnabas.cli.output import note, print_data
from barnabas.cli.parser import parameters
from barnabas.core.command_line import HELP_OPTIONS
from barnabas.core.errors import BarnabasError

LINE: Final = "_BARNABAS_COMPLETE"

_BASH: Final = """_barnabas() {
    local IFS=$'\\n'
    COMPREPLY=($(_BARNABAS_COMPLETE="${COMP_LINE:0:COMP_POINT}" barnabas | cut -f 1))
}
complete -o default -F _barnabas barnabas
"""
_ZSH: Final = """(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_barnabas() {
    local -a found
    found=("${(@f)$(_BARNABAS_COMPLETE="${words[1,$CURRENT]}" barnabas | tr '\\t' ':')}")
    if [[ -n "$found" ]]; then _describe barnabas found; else _files; fi
}
compdef _barnabas barnabas
"""
_FISH: Final = 'complete -c barnabas -a "(env _BARNABAS_COMPLETE=(commandline -cp | string collect) barnabas)"\n'

# The script, its path below the user's home, and the shell's file that must source it.
_SHELLS: Final[Mapping[str, tuple[str, str, str | None]]] = {
    "bash": (_BASH, ".bash_completions/barnabas.sh", ".bashrc"),
    "zsh": (_ZSH, ".zfunc/barnabas.zsh", ".zshrc"),
    "fish": (_FISH, ".config/fish/completions/barnabas.fish", None),
}


def show_completion(shell: str) -> None:
    """Print a shell's completion script.

    Args:
        shell: The shell's name; empty for the user's shell.

    Raises:
        BarnabasError: This shell is not supported.
    """
    print_data(_SHELLS[_name(shell)][0])


def install_completion(shell: str) -> None:
    """Install completion, in effect from the shell's next start. Raises BarnabasError as `show_completion`."""
    name = _name(shell)
    script, where, read_by = _SHELLS[name]
    try:
        home = Path.home()
    except RuntimeError:
        raise BarnabasError("this user has no home directory: set HOME") from None
    path = home / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    if read_by is not None:
        startup = home / read_by
        line = f"source '{path}'"
        if not startup.exists() or line not in startup.read_text().splitlines():
            with startup.open("a") as file:
                file.write(f"\n{line}\n")
    note(f"Completion for {name} is installed in {path}; start a new shell to use it.")


def _name(shell: str) -> str:
    name = Path(shell or os.environ.get("SHELL", "")).name
    if name not in _SHELLS:
        raise BarnabasError(
            f"{name or 'this shell'} is not supported: completion is available for {', '.join(_SHELLS)}; name one of "
            "them"
        )
    return name


def print_candidates(line: str) -> None:
    """Print the words that may follow at the end of a command line."""
    words = line.split()[1:]
    begun = words.pop() if words and not line[-1].isspace() else ""
    for word, text in _candidates(words):
        if word.startswith(begun) and (begun or not word.startswith("-")):
            print_data(f"{word}\t{text.splitlines()[0]}\n")


def _candidates(words: list[str]) -> Iterator[tuple[str, str]]:
    if not words:
        yield from ((name, text) for name, text in COMMANDS.items() if " " not in name)
        return
    name, *rest = words
    if not rest:
        yield from ((each.split()[1], text) for each, text in COMMANDS.items() if each.startswith(f"{name} "))
    if rest and f"{name} {rest[0]}" in COMMANDS:
        name = f"{name} {rest.pop(0)}"
    if name not in COMMANDS or name in ("broker", "pipeline"):
        return
    below = ""
    if name in SUBCOMMANDS:
        if not rest or rest[0] not in SUBCOMMANDS[name]:
            yield from ((each, text) for each, (_, text) in module_of(name).SUBCOMMANDS.items())
            return
        below = rest[0]
    function, _ = find_command(name, below)
    for each in parameters(function):
        yield from ((option, each.option.help) for option in each.option.names)
    yield HELP_OPTIONS[1], "Show this message."
