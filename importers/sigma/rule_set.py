"""Sigma rules from files to `.cq` files, with a list of what could not be said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError, SigmaRuleLocation
from sigma.filters import SigmaFilter
from sigma.rule import SigmaRule

from cqc.importers.rule_files import NotSaid, RuleFile, read_text, rule_files
from cqc.importers.sigma.backend import CqcBackend

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from sigma.processing.pipeline import ProcessingPipeline

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
ENDINGS = (".yml", ".yaml")
MISSING = "not there"


@dataclass
class Imported:
    """What became of a set of rules: the streams, a file for each rule, and what could not be said."""

    streams: str = ""
    files: list[RuleFile] = field(default_factory=list)
    not_said: list[NotSaid] = field(default_factory=list)
    rules: int = 0


def import_rules(
    paths: Sequence[str], pipeline: ProcessingPipeline | None, **options: Any
) -> Imported:
    """Convert all rules of the files and folders named.

    Args:
        paths: files, or folders whose `.yml` and `.yaml` files are read.
        pipeline: applied to each rule.
        options: those of the backend.

    Raises:
        OSError: when a path is not there.
    """
    imported = Imported()
    rules = list(_load(rule_files(paths, ENDINGS), imported))
    kept = _with_known_references(rules, imported)
    collection = SigmaCollection(kept, resolve_references=False)
    imported.rules = len(collection.rules) + len(imported.not_said)
    backend = CqcBackend(pipeline, collect_errors=True, **options)
    backend.convert(collection)
    imported.streams = backend.streams.declarations
    imported.files = [RuleFile(each.name, each.text) for each in backend.converted]
    for rule, error in backend.errors:
        imported.not_said.append(NotSaid(rule.title or "a rule", _place(rule), _reason(error)))
    return imported


def find_pipeline(names: Sequence[str]) -> ProcessingPipeline | None:
    """The pipelines of these names or files, one after the other.

    Raises:
        SigmaError: when one is not there or cannot be read.
    """
    if not names:
        return None
    from sigma.plugins import InstalledSigmaPlugins

    resolver = InstalledSigmaPlugins.autodiscover().get_pipeline_resolver()
    return resolver.resolve(list(names))


def _load(files: Iterable[Path], imported: Imported) -> Iterable[Any]:
    """The rules of all files; one that cannot be read is noted."""
    for path in files:
        location = SigmaRuleLocation(path)
        try:
            documents = [each for each in yaml.load_all(read_text(path), _Loader) if each]
            if not all(isinstance(each, dict) for each in documents):
                raise SigmaError("it is no Sigma rule: not a YAML mapping")
            loaded = SigmaCollection.from_dicts(
                documents,
                collect_errors=True,
                source=location,
                collect_filters=True,
                resolve_references=False,
            )
        except (yaml.YAMLError, UnicodeDecodeError, SigmaError) as error:
            imported.not_said.append(NotSaid(path.stem, str(path), _reason(error)))
            continue
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            reason = f"pySigma cannot read it ({type(error).__name__}: {error})"
            imported.not_said.append(NotSaid(path.stem, str(path), reason))
            continue
        yield from (*loaded.rules, *loaded.filters)


def _with_known_references(rules: Sequence[Any], imported: Imported) -> list[Any]:
    """Leave out correlation rules and filters whose rules are not there, until all references are known."""
    kept = list(rules)
    while True:
        known = {str(rule.id) for rule in kept} | {
            rule.name for rule in kept if not isinstance(rule, SigmaFilter)
        }
        wrong = [(rule, missing) for rule in kept if (missing := _missing(rule, known))]
        if not wrong:
            return kept
        for rule, missing in wrong:
            kept.remove(rule)
            reason = missing if rule.errors else f"it references {missing}, which is {MISSING}"
            imported.not_said.append(NotSaid(rule.title or "a rule", _place(rule), reason))


def _missing(rule: Any, known: set[Any]) -> str | None:
    if rule.errors and not isinstance(rule, SigmaRule):
        return _reason(rule.errors[0])
    if isinstance(rule, SigmaFilter):
        named = rule.filter.rules
        wanted = [] if isinstance(named, str) else [each.reference for each in named]
    elif isinstance(rule, SigmaCorrelationRule):
        wanted = [each.reference for each in rule.rules or ()]
        if not wanted and hasattr(rule.condition, "get_referenced_rules"):
            wanted = rule.condition.get_referenced_rules()
    else:
        return None
    return next((each for each in wanted if each not in known), None)


def _place(rule: Any) -> str:
    source = rule.source
    return "" if source is None else str(source.path)


def _reason(error: Exception) -> str:
    text = str(error.args[0]) if isinstance(error, SigmaError) and error.args else str(error)
    return " ".join(text.split())
