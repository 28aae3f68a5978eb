"""The distinct values of a column, by the kind of its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.benchmarks.engine.rules.workload.words import Words, filled, spread_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cqc.benchmarks.engine.rules.workload.streams import Text

_LISTS = {
    "boolean": ("true", "false"),
    "protocol": ("tcp", "udp"),
    "status": ("Valid", "Unavailable", "Expired", "Revoked"),
    "integrity": ("System", "Medium", "High", "Low"),
    "event_type": ("SetValue", "CreateKey", "DeleteValue", "DeleteKey", "RenameKey"),
    "state": ("Started", "Stopped", "Available"),
    "small_number": ("0", "1", "2", "3"),
    "classic_id": ("600", "400", "403", "800"),
    "powershell_id": ("4103", "800", "4104", "40961"),
}
_FIRST_NUMBERS = {"security_id": 4610, "sysmon_id": 5, "winlog_id": 1000}


class Pools:
    """Makes values; programs and libraries are the same in all streams, the common ones first."""

    def __init__(self, seed: int) -> None:
        self.words = Words(seed)
        self._programs: list[str] = []
        self._libraries: list[str] = []
        self._applications: list[str] = []

    def programs(self, count: int) -> list[str]:
        """The first so many paths of programs."""
        return self._extended(self._programs, count, self.words.program)

    def libraries(self, count: int) -> list[str]:
        """The first so many paths of libraries."""
        return self._extended(self._libraries, count, lambda: self.words.program(".dll"))

    def _extended(self, values: list[str], count: int, make: Callable[[], str]) -> list[str]:
        known = set(values)
        while len(values) < count:
            value = make()
            if value not in known and 30 <= len(value) <= 36:
                known.add(value)
                values.append(value)
        return values[:count]

    def values(self, column: Text, count: int) -> list[str]:
        """So many distinct values of a column."""
        if column.kind == "image":
            return self.programs(count)
        if column.kind == "library_path":
            return self.libraries(count)
        if column.kind in _LISTS:
            return list(_LISTS[column.kind])[: max(1, count)]
        if column.kind in _FIRST_NUMBERS:
            first = _FIRST_NUMBERS[column.kind]
            return [str(first + 3 * at) for at in range(count)]
        median = column.median or 16
        lengths = spread_lengths(self.words, count, median, column.last or median)
        return self._distinct(getattr(self, f"_{column.kind}"), lengths)

    def _distinct(self, make: Callable[[int], str], lengths: Sequence[int]) -> list[str]:
        found: dict[str, None] = {}
        for at, length in enumerate(lengths):
            value = make(length)
            while value in found:
                value = make(length + 1 + at % 7)
            found[value] = None
        return list(found)

    def _host(self, _: int) -> str:
        return f"{self.words.one_of(('WS', 'SRV', 'DC'))}-{self.words.number(90):02d}.{self.words.one_of(('corp', 'lab'))}.example"

    def _user(self, _: int) -> str:
        return rf"{self.words.one_of(('CORP', 'NT AUTHORITY'))}\{self.words.word()}"

    def _access(self, _: int) -> str:
        return f"0x{self.words.number(1 << 21):x}"

    def _version(self, _: int) -> str:
        return f"{self.words.number(12)}.{self.words.number(9)}.{self.words.number(20000)}.{self.words.number(3000)}"

    def _phrase(self, length: int) -> str:
        return filled(self.words.name(), length, self.words.name, " ")

    def _library(self, _: int) -> str:
        return f"{self.words.word()}.dll"

    def _folder(self, _: int) -> str:
        return self.words.folder() + "\\"

    def _port(self, _: int) -> str:
        return str(self.words.one_of(("443", "80", "53", "445")) if self.words.number(9) == 0 else 1024 + self.words.number(60000))  # fmt: skip

    def _address(self, _: int) -> str:
        return ".".join(str(1 + self.words.number(250)) for _ in range(4))

    def _host_name(self, _: int) -> str:
        return f"{self.words.word()}.{self.words.word(1, 2)}.{self.words.one_of(('example', 'test', 'invalid'))}"

    def _pipe(self, _: int) -> str:
        return rf"\{self.words.word()}-{self.words.number(9000)}"

    def _channel(self, _: int) -> str:
        return f"{self.words.name()}-Windows-{self.words.name()}/Operational"

    def _provider(self, _: int) -> str:
        return self.words.name()

    def _moment(self, _: int) -> str:
        return f"2024-0{1 + self.words.number(5)}-{10 + self.words.number(18)} {10 + self.words.number(13)}:{10 + self.words.number(49)}"

    def _details(self, _: int) -> str:
        kind = self.words.number(3)
        if kind == 0:
            return f"DWORD (0x{self.words.number(1 << 16):08x})"
        return "Binary Data" if kind == 1 else self.words.program()

    def _field(self, _: int) -> str:
        return self.words.one_of((self.words.word(), f"%%{1800 + self.words.number(200)}", f"0x{self.words.number(4096):x}"))  # fmt: skip

    _field_text = _field

    def _key(self, length: int) -> str:
        return filled(self.words.key(), length, self._key_part, "\\")

    def _key_part(self) -> str:
        kind = self.words.number(3)
        return f"{{{self.words.hexadecimal(8)}-{self.words.hexadecimal(4)}}}" if kind == 0 else self.words.name()  # fmt: skip

    def _object_name(self, length: int) -> str:
        return filled(r"\REGISTRY\MACHINE\SYSTEM", length, self.words.name, "\\")

    def _file_name(self, length: int) -> str:
        path = filled(self.words.folder(), length - 5, self._key_part, "\\")
        return path + self.words.one_of((".tmp", ".log", ".dll", ".json", ".exe", ".ps1", ".txt"))

    def _hashes(self, _: int) -> str:
        digits = self.words.hexadecimal
        return f"SHA1={digits(40)},MD5={digits(32)},SHA256={digits(64)},IMPHASH={digits(32)}"

    def _call_trace(self, length: int) -> str:
        libraries = self.libraries(70)
        first = f"{libraries[0]}+{self.words.hexadecimal(5).lower()}"
        return filled(
            first,
            length,
            lambda: f"{self.words.one_of(libraries)}+{self.words.hexadecimal(5).lower()}",
            "|",
        )

    def _command_line(self, length: int) -> str:
        program = self.words.one_of(self.programs(120))
        begin = f'"{program}"' if self.words.number(2) else program.rpartition("\\")[2]
        return filled(begin, length, self.words.option, " ")

    def _script(self, length: int) -> str:
        return filled(self.words.script_line(), length, self.words.script_line, "\r\n")

    def _script_path(self, _: int) -> str:
        return rf"{self.words.folder()}\{self.words.word()}.ps1"

    def _payload(self, length: int) -> str:
        begin = f"CommandInvocation({self.words.name()}-{self.words.name()}): "
        return filled(begin, length, self.words.script_line, "\r\n")

    def _message(self, length: int) -> str:
        begin = f"The {self.words.word()} service entered the {self.words.word()} state."
        return filled(begin, length, self.words.word, " ")

    def _context(self, length: int) -> str:
        """What differs is a number near the end: most of a context is the program that runs, written out."""
        if not self._applications:
            self._applications = list(self._long_applications())
        application = self.words.one_of(self._applications)
        ending = (
            f"\r\n        Command Name = {self.words.name()}-{self.words.name()}\r\n        Sequence Number = "
            f"{self.words.number(10_000_000)}\r\n        User = CORP\\svc\r\n"
        )
        return application[: length - len(ending)] + ending

    def _long_applications(self) -> Iterator[str]:
        for _ in range(48):
            head = "        Severity = Informational\r\n        Host Name = ConsoleHost\r\n        Host Application = "
            yield filled(head + self.words.one_of(self.programs(20)), 6200, self.words.script_line, "\r\n")  # fmt: skip
