"""The description of an API by its protobuf descriptors: methods, and violations of requests.

The methods of a gRPC service that another name may mean.
| sent                                    | may mean                                                     |
|-----------------------------------------|--------------------------------------------------------------|
| `GetCluter`                             | `GetCluster`: nearly the same letters                        |
| `ListMembers`                           | `MemberList`: the same words, in another order or number     |
| `ClusterState`, `GetClusterHealth`      | `GetClusterState`, `ClusterHealth`: a verb of reading apart  |
| `Grant` of the service `Lease`          | `LeaseGrant`: the service's own words apart                  |
| `GetLog`, where nothing of these is     | `DescribeLog`: another verb of reading                       |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final

from corrigible.adapters.base import Described
from corrigible.adapters.operation import ANY, NOTHING, Operations, Path, Vocabulary
from corrigible.adapters.operation import MOST as MOST_PLACES
from corrigible.rules.budget import spend
from corrigible.rules.pointer import segments
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.nearness import LONGEST, is_plural, is_same, letters, nearest
from corrigible.rules.safety.spelling import may_be_other_word
from corrigible.rules.schema_repair.levels import REQUIRED
from corrigible.rules.schema_repair.route import UNSURE
from corrigible.rules.schema_repair.schema_violation import MOST, DeclaredPlace, SchemaViolation
from corrigible.schema.exchange import Json, Request

from .descriptors import Descriptors
from .field_schema import Constraints, MessageChecker, field_schema, gateway_paths

_OF_MANY: Final = "list"
_READING: Final = word_set("get list describe read")
"""First words of methods that change nothing."""
_LOOKING: Final = _READING | word_set("fetch find query search")
_WRITING: Final = word_set(
    "accept acquire activate add allocate apply approve assign attach begin bind book build cancel charge clear"
    " clone close commit compact configure confirm convert copy create deactivate defragment delete deploy detach"
    " disable drain drop edit emit enable enqueue erase exec execute expire extend fail finish flush force"
    " generate grant import increment init insert install invite invoke join kick kill leave lock make mark merge"
    " migrate modify mount move open order patch pause pay persist post prepare provision prune publish purge push"
    " put queue reboot rebuild record refresh refund register reject release reload remove rename renew repair"
    " replace report reserve reset resize restart restore resume revert revoke rollback rotate run save scale"
    " schedule seal send set shutdown sign snapshot split start stop store submit subscribe suspend swap sync"
    " terminate toggle transfer trigger trim truncate uninstall unlock unregister unset unsubscribe update upgrade"
    " upload upsert withdraw write"
)
"""First words of methods that change something, or may."""


def near_names(name: str, service: str, names: Sequence[str]) -> list[str]:
    """Return the methods of a service that a name may mean, the nearest first; the one where it alone is as near."""
    if name in names:
        return [name]
    own = words(name) if len(name) <= LONGEST else ()
    if not own:
        return []
    spend(6 * len(names))
    near = nearest(name, names)
    other_words = {other: words(other) for other in names if other not in near}
    same = sorted(own)
    near += [other for other, parts in other_words.items() if sorted(parts) == same]
    if any(sorted(words(other)) == same for other in near):
        return near
    beside = (_is_alike(own, parts, words(service)) for parts in other_words.values())
    near += [other for other, is_alike in zip(other_words, beside, strict=True) if is_alike]
    return near or [other for other, parts in other_words.items() if _has_other_reading_verb(own, parts)]


def _is_alike(own: Sequence[str], other: Sequence[str], service: Sequence[str]) -> bool:
    return (
        _has_same_words(own, other)
        or _lacks_verb(own, other)
        or _lacks_verb(other, own)
        or _has_service(own, other, service)
    )


def _has_same_words(own: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names have the same words, in any order and number."""
    if len(own) != len(other):
        return False
    return all(one == two or is_plural(one, two) for one, two in zip(sorted(own), sorted(other), strict=True))


def _lacks_verb(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether a name is another one without its verb of reading, and begins with none of its own."""
    is_rest = bool(shorter) and longer[:1] != () and longer[0] in _READING and tuple(longer[1:]) == tuple(shorter)
    return is_rest and shorter[0] not in _WRITING and shorter[0] not in _READING


def _has_service(own: Sequence[str], other: Sequence[str], service: Sequence[str]) -> bool:
    """Whether one of two names is the other behind the first words of the service's name."""
    shorter, longer = sorted((tuple(own), tuple(other)), key=len)
    more = len(longer) - len(shorter)
    return 0 < more <= len(service) and bool(shorter) and longer == (*service[:more], *shorter)


def _has_other_reading_verb(own: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names differ in their verb of reading; a list is of several, as the name has to say."""
    if len(own) < 2 or len(own) != len(other) or own[1:] != other[1:]:
        return False
    verbs = {own[0], other[0]}
    return verbs <= _READING and (_OF_MANY not in verbs or own[-1].endswith("s"))


_MOST_NAMED: Final = 3


class ProtobufDescription(Described):
    """The `Described` of some descriptors."""

    def __init__(self, descriptors: Descriptors) -> None:
        self._descriptors = descriptors
        self._constraints = Constraints(descriptors.pool)
        self._checker = MessageChecker(self._constraints)
        self._facts: dict[str, dict[str, Json]] = {}

    @cached_property
    def operations(self) -> Operations:
        return Operations(dict(_paths(self._descriptors)))

    def schema_violations(self, request: Request, operation: str, at: str = "") -> tuple[SchemaViolation, ...]:
        """Return the violations of a request, misspelt names first; with `at` those at that place or below.

        In `at`, the name of a `oneof` stands for all of its members.
        """
        method = self._descriptors.methods.get(f"/{operation}")
        if method is None or not isinstance(request.body, Mapping):
            return ()
        violations = islice(
            self._checker.message(method.request_type, request.body, "/body", "" if at == "/body" else at), MOST
        )
        return tuple(sorted(_once(violations), key=lambda violation: violation.keyword != "additionalProperties"))

    def declared_place(self, request: Request, operation: str, pointer: str) -> DeclaredPlace:
        """Return the schema of a field of the message; deeper ones are not looked at."""
        facts = self.facts(operation)
        members = facts.get("properties", {}) if isinstance(facts, Mapping) else {}
        place, *path = segments(pointer) or ("",)
        if place != "body" or len(path) != 1 or not members:
            return DeclaredPlace({})
        closed = {"type": "object", "properties": members, REQUIRED: facts["required"]}
        return DeclaredPlace(members.get(path[0], {}), tuple(members), closed)

    def nearest_operation(self, request: Request) -> SchemaViolation | None:
        """Return the methods that an unknown one may mean: of its own service, or of the same name in a near one."""
        place, called = ("path", request.path) if request.method == "POST" else ("method", request.method)
        service, _, name = called.rpartition("/")
        if not name or not service.startswith("/") or called in self._descriptors.methods:
            return None
        by_service: dict[str, list[str]] = {}
        for known in self._descriptors.methods:
            by_service.setdefault(known.rpartition("/")[0], []).append(known.rpartition("/")[2])
        dotted = "/" + service[1:].replace("/", ".")  # between package and service is a dot
        services = [dotted] if dotted in by_service else _near_services(service, list(by_service))
        near = [
            f"{service}/{other}"
            for service in services
            for other in near_names(name, service.rpartition(".")[2].lstrip("/"), by_service[service])
        ]
        # The method may be another service's: then none is nearer.
        elsewhere = [known for known in self._descriptors.methods if known.rpartition("/")[2] == name]
        if name in by_service.get(dotted, ()):
            near = [f"{dotted}/{name}"]  # it is there, and only written with a slash for the dot
        else:
            near = list(dict.fromkeys([*elsewhere, *near])) if dotted in by_service else near or elsewhere
        if not near:
            return None
        schema: dict[str, Json] = {"enum": near[:_MOST_NAMED]}
        if len(near) == 1 and not _is_sure(called, near[0], by_service):
            schema[UNSURE] = True
        return SchemaViolation(f"/{place}", place, schema, called)

    def facts(self, operation: str) -> Json:
        """Return `{required, properties}` of the message, one level deep."""
        method = self._descriptors.methods.get(f"/{operation}")
        if method is None:
            return {}
        if operation not in self._facts:
            self._facts[operation] = self._read_facts(method.request_type)
        return self._facts[operation]

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        """Return the fields of a method's message, and of the messages in it that a body has."""
        method = self._descriptors.methods.get(f"/{operation}")
        if method is None:
            return NOTHING
        return Vocabulary(tuple(islice(_fields(method.request_type, body), MOST_PLACES)))

    def _read_facts(self, message: Any) -> dict[str, Json]:
        fields = {field.json_name: field for field in message.fields}
        rules = {name: self._constraints.of_field(field) for name, field in fields.items()}
        return {
            "required": [name for name, rule in rules.items() if rule.get("required") is True],
            "properties": {name: field_schema(field, rules[name]) for name, field in fields.items()},
        }


def _fields(message: Any, body: Json) -> Iterator[Path]:
    """Yield the fields of a message and of each message that was sent in it, level by level, as proto-JSON names them.

    A message that may hold its own kind has places without end: what was sent tells which of them may count.
    """
    waiting: deque[tuple[Path, Any, Sequence[Json]]] = deque([(("body",), message, [body])])
    while waiting:
        path, here, values = waiting.popleft()
        sent = [one for one in values if isinstance(one, Mapping)]
        for field in here.fields:
            place = (*path, field.json_name)
            yield place
            inner, held = field.message_type, [one[field.json_name] for one in sent if field.json_name in one]
            if inner is None or not held or inner.full_name.startswith("google.protobuf."):
                continue
            if inner.GetOptions().map_entry:
                inner = inner.fields_by_name["value"].message_type
                held = [one for entries in held if isinstance(entries, Mapping) for one in entries.values()]
            elif field.is_repeated:
                held = [one for listed in held if isinstance(listed, list) for one in listed]
            if inner is not None:
                waiting.append(((*place, ANY) if field.is_repeated else place, inner, held[:MOST_PLACES]))


def _paths(descriptors: Descriptors) -> Iterator[tuple[str, str]]:
    """Yield the HTTP calls whose whole body is the message, with the method each of them is.

    Connect has the method as its path, Twirp the same below `/twirp`, and a gateway the path of google.api.http.
    """
    for method in descriptors.methods:
        yield f"POST {method}", method[1:]
        yield f"POST /twirp{method}", method[1:]
    for path, method in gateway_paths(descriptors.pool, descriptors.methods):
        yield path, method[1:]


def _once(violations: Iterator[SchemaViolation]) -> Iterator[SchemaViolation]:
    seen = set[tuple[str, str]]()
    for violation in violations:
        if (violation.pointer, violation.keyword) not in seen:
            seen.add((violation.pointer, violation.keyword))
            yield violation


def _is_sure(called: str, meant: str, by_service: Mapping[str, Sequence[str]]) -> bool:
    """Whether two methods are one but for its spelling: a word more, or another word, is another method."""
    service, _, name = called.rpartition("/")
    other_service, _, other = meant.rpartition("/")
    dotted = "/" + service[1:].replace("/", ".")  # between package and service is a dot
    if dotted != other_service and not _is_same_service(dotted, other_service):
        if name != other or len(words(name)) < 2:  # `Create` alone does not say of what
            return False
        is_alone = [other in names for names in by_service.values()].count(True) == 1
        return dotted in by_service or (is_alone and _is_near_service(dotted, other_service))
    own, its = words(name), words(other)
    if is_same(name, other) or sorted(own) == sorted(its) or _lacks_verb(own, its):
        return True
    is_less = len(its) > 1 and _lacks_verb(its, own)
    if is_less or _has_service(own, its, words(dotted.rpartition(".")[2])) or _has_other_reading_verb(own, its):
        return True
    if len(own) > 1 and _has_same_words(own, its):
        is_of_one = len(own[-1]) < len(its[-1])
        of_several = [one for one in by_service[other_service] if words(one)[1 - len(own) :] == own[1:]]
        verb = own[1] if own[0] == "batch" else own[0]
        return verb in _LOOKING and (is_of_one or not of_several)
    return _is_misspelt(own, its)


def _is_misspelt(own: Sequence[str], meant: Sequence[str]) -> bool:
    """Whether a name is another one, word for word, but for slips that make no other word."""
    return len(own) == len(meant) and all(
        one == two or (nearest(one, [two]) == [two] and not may_be_other_word(one, two))
        for one, two in zip(own, meant, strict=True)
    )


def _is_same_service(service: str, other: str) -> bool:
    """Whether two services have one name, whatever their packages, and the words for a service in it."""
    names = [one.rpartition(".")[2].lstrip("/") for one in (service, other)]
    own, its = ([word for word in words(one) if word not in _OF_SERVICES] for one in names)
    return is_same(*names) or _is_misspelt(own, its) or _is_misspelt(*map(words, names))


def _is_near_service(service: str, other: str) -> bool:
    """Whether two services have nearly one name, or the first is the end of the other: a word more says more."""
    own, its = (one.rpartition(".")[2].lstrip("/") for one in (service, other))
    return len(words(own)) <= len(words(its)) and bool(nearest(own, [its]) or letters(its).endswith(letters(own)))


_OF_SERVICES: Final = word_set("service services svc server api apis grpc")


def _near_services(service: str, services: Sequence[str]) -> list[str]:
    """Return the services of nearly the same name: the last part alike, whatever the version of the package."""
    last = service.rpartition(".")[2].lstrip("/")
    ends = {candidate.rpartition(".")[2].lstrip("/"): candidate for candidate in reversed(services)}
    alike = nearest(last, list(ends))
    near = [candidate for candidate in services if candidate.rpartition(".")[2].lstrip("/") in alike]
    same_package = nearest(service, near) if len(near) > 1 else []
    return (same_package if len(same_package) == 1 else near)[:_MOST_NAMED]
