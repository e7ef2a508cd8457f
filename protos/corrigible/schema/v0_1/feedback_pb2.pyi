# mypy: disable-error-code="type-arg, no-untyped-def"
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FeedbackType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FEEDBACK_TYPE_UNSPECIFIED: _ClassVar[FeedbackType]
    FEEDBACK_TYPE_RECOVERY_GUIDANCE: _ClassVar[FeedbackType]
    FEEDBACK_TYPE_INTENT_DISAMBIGUATION: _ClassVar[FeedbackType]
    FEEDBACK_TYPE_CONFIDENCE_SIGNAL: _ClassVar[FeedbackType]

class Recovery(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECOVERY_UNSPECIFIED: _ClassVar[Recovery]
    RECOVERY_CORRECTABLE: _ClassVar[Recovery]
    RECOVERY_TRANSIENT: _ClassVar[Recovery]
    RECOVERY_TERMINAL: _ClassVar[Recovery]

class IdempotencyKey(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IDEMPOTENCY_KEY_UNSPECIFIED: _ClassVar[IdempotencyKey]
    IDEMPOTENCY_KEY_REUSE: _ClassVar[IdempotencyKey]
    IDEMPOTENCY_KEY_NEW: _ClassVar[IdempotencyKey]
    IDEMPOTENCY_KEY_NONE: _ClassVar[IdempotencyKey]

class LoopAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOOP_ACTION_UNSPECIFIED: _ClassVar[LoopAction]
    LOOP_ACTION_NONE: _ClassVar[LoopAction]
    LOOP_ACTION_NEXT_ALTERNATIVE: _ClassVar[LoopAction]
    LOOP_ACTION_RELAX_STRUCTURE: _ClassVar[LoopAction]
    LOOP_ACTION_ESCALATE: _ClassVar[LoopAction]

class PatchVerb(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PATCH_VERB_UNSPECIFIED: _ClassVar[PatchVerb]
    PATCH_VERB_ADD: _ClassVar[PatchVerb]
    PATCH_VERB_REMOVE: _ClassVar[PatchVerb]
    PATCH_VERB_REPLACE: _ClassVar[PatchVerb]
    PATCH_VERB_MOVE: _ClassVar[PatchVerb]
    PATCH_VERB_COPY: _ClassVar[PatchVerb]
    PATCH_VERB_TEST: _ClassVar[PatchVerb]

class Applicability(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPLICABILITY_UNSPECIFIED: _ClassVar[Applicability]
    APPLICABILITY_MACHINE_APPLICABLE: _ClassVar[Applicability]
    APPLICABILITY_MAYBE_INCORRECT: _ClassVar[Applicability]
    APPLICABILITY_HAS_PLACEHOLDERS: _ClassVar[Applicability]

class Ask(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ASK_UNSPECIFIED: _ClassVar[Ask]
    ASK_AGENT: _ClassVar[Ask]
    ASK_USER: _ClassVar[Ask]

class VerificationStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERIFICATION_STATUS_UNSPECIFIED: _ClassVar[VerificationStatus]
    VERIFICATION_STATUS_VERIFIED: _ClassVar[VerificationStatus]
    VERIFICATION_STATUS_REFUTED: _ClassVar[VerificationStatus]
    VERIFICATION_STATUS_UNVERIFIED: _ClassVar[VerificationStatus]
    VERIFICATION_STATUS_NOT_POSSIBLE: _ClassVar[VerificationStatus]

class VerificationMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERIFICATION_METHOD_UNSPECIFIED: _ClassVar[VerificationMethod]
    VERIFICATION_METHOD_SCHEMA: _ClassVar[VerificationMethod]
    VERIFICATION_METHOD_DRY_RUN: _ClassVar[VerificationMethod]
    VERIFICATION_METHOD_LOOKUP: _ClassVar[VerificationMethod]

class ConfidenceBasis(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIDENCE_BASIS_UNSPECIFIED: _ClassVar[ConfidenceBasis]
    CONFIDENCE_BASIS_AUTHOR: _ClassVar[ConfidenceBasis]
    CONFIDENCE_BASIS_SPEC: _ClassVar[ConfidenceBasis]
    CONFIDENCE_BASIS_OBSERVED: _ClassVar[ConfidenceBasis]
    CONFIDENCE_BASIS_CORPUS: _ClassVar[ConfidenceBasis]

class SideEffects(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIDE_EFFECTS_UNSPECIFIED: _ClassVar[SideEffects]
    SIDE_EFFECTS_NONE: _ClassVar[SideEffects]
    SIDE_EFFECTS_POSSIBLE: _ClassVar[SideEffects]
    SIDE_EFFECTS_CERTAIN: _ClassVar[SideEffects]

class Relation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RELATION_UNSPECIFIED: _ClassVar[Relation]
    RELATION_ALL: _ClassVar[Relation]
    RELATION_ONE_OF: _ClassVar[Relation]
    RELATION_SEQUENCE: _ClassVar[Relation]

class EvidenceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVIDENCE_KIND_UNSPECIFIED: _ClassVar[EvidenceKind]
    EVIDENCE_KIND_RULE: _ClassVar[EvidenceKind]
    EVIDENCE_KIND_SPEC: _ClassVar[EvidenceKind]
    EVIDENCE_KIND_LOOKUP: _ClassVar[EvidenceKind]
    EVIDENCE_KIND_MAPPING: _ClassVar[EvidenceKind]
    EVIDENCE_KIND_RELAYED: _ClassVar[EvidenceKind]
    EVIDENCE_KIND_ANSWER: _ClassVar[EvidenceKind]
FEEDBACK_TYPE_UNSPECIFIED: FeedbackType
FEEDBACK_TYPE_RECOVERY_GUIDANCE: FeedbackType
FEEDBACK_TYPE_INTENT_DISAMBIGUATION: FeedbackType
FEEDBACK_TYPE_CONFIDENCE_SIGNAL: FeedbackType
RECOVERY_UNSPECIFIED: Recovery
RECOVERY_CORRECTABLE: Recovery
RECOVERY_TRANSIENT: Recovery
RECOVERY_TERMINAL: Recovery
IDEMPOTENCY_KEY_UNSPECIFIED: IdempotencyKey
IDEMPOTENCY_KEY_REUSE: IdempotencyKey
IDEMPOTENCY_KEY_NEW: IdempotencyKey
IDEMPOTENCY_KEY_NONE: IdempotencyKey
LOOP_ACTION_UNSPECIFIED: LoopAction
LOOP_ACTION_NONE: LoopAction
LOOP_ACTION_NEXT_ALTERNATIVE: LoopAction
LOOP_ACTION_RELAX_STRUCTURE: LoopAction
LOOP_ACTION_ESCALATE: LoopAction
PATCH_VERB_UNSPECIFIED: PatchVerb
PATCH_VERB_ADD: PatchVerb
PATCH_VERB_REMOVE: PatchVerb
PATCH_VERB_REPLACE: PatchVerb
PATCH_VERB_MOVE: PatchVerb
PATCH_VERB_COPY: PatchVerb
PATCH_VERB_TEST: PatchVerb
APPLICABILITY_UNSPECIFIED: Applicability
APPLICABILITY_MACHINE_APPLICABLE: Applicability
APPLICABILITY_MAYBE_INCORRECT: Applicability
APPLICABILITY_HAS_PLACEHOLDERS: Applicability
ASK_UNSPECIFIED: Ask
ASK_AGENT: Ask
ASK_USER: Ask
VERIFICATION_STATUS_UNSPECIFIED: VerificationStatus
VERIFICATION_STATUS_VERIFIED: VerificationStatus
VERIFICATION_STATUS_REFUTED: VerificationStatus
VERIFICATION_STATUS_UNVERIFIED: VerificationStatus
VERIFICATION_STATUS_NOT_POSSIBLE: VerificationStatus
VERIFICATION_METHOD_UNSPECIFIED: VerificationMethod
VERIFICATION_METHOD_SCHEMA: VerificationMethod
VERIFICATION_METHOD_DRY_RUN: VerificationMethod
VERIFICATION_METHOD_LOOKUP: VerificationMethod
CONFIDENCE_BASIS_UNSPECIFIED: ConfidenceBasis
CONFIDENCE_BASIS_AUTHOR: ConfidenceBasis
CONFIDENCE_BASIS_SPEC: ConfidenceBasis
CONFIDENCE_BASIS_OBSERVED: ConfidenceBasis
CONFIDENCE_BASIS_CORPUS: ConfidenceBasis
SIDE_EFFECTS_UNSPECIFIED: SideEffects
SIDE_EFFECTS_NONE: SideEffects
SIDE_EFFECTS_POSSIBLE: SideEffects
SIDE_EFFECTS_CERTAIN: SideEffects
RELATION_UNSPECIFIED: Relation
RELATION_ALL: Relation
RELATION_ONE_OF: Relation
RELATION_SEQUENCE: Relation
EVIDENCE_KIND_UNSPECIFIED: EvidenceKind
EVIDENCE_KIND_RULE: EvidenceKind
EVIDENCE_KIND_SPEC: EvidenceKind
EVIDENCE_KIND_LOOKUP: EvidenceKind
EVIDENCE_KIND_MAPPING: EvidenceKind
EVIDENCE_KIND_RELAYED: EvidenceKind
EVIDENCE_KIND_ANSWER: EvidenceKind

class RecoveryFeedback(_message.Message):
    __slots__ = ("schema", "type", "message", "recovery", "retry", "loop", "suggestions")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    LOOP_FIELD_NUMBER: _ClassVar[int]
    SUGGESTIONS_FIELD_NUMBER: _ClassVar[int]
    schema: str
    type: FeedbackType
    message: str
    recovery: Recovery
    retry: Retry
    loop: Loop
    suggestions: _containers.RepeatedCompositeFieldContainer[Suggestion]
    def __init__(self, schema: _Optional[str] = ..., type: _Optional[_Union[FeedbackType, str]] = ..., message: _Optional[str] = ..., recovery: _Optional[_Union[Recovery, str]] = ..., retry: _Optional[_Union[Retry, _Mapping]] = ..., loop: _Optional[_Union[Loop, _Mapping]] = ..., suggestions: _Optional[_Iterable[_Union[Suggestion, _Mapping]]] = ...) -> None: ...

class Retry(_message.Message):
    __slots__ = ("same_request", "after_seconds", "max_attempts", "idempotency_key")
    SAME_REQUEST_FIELD_NUMBER: _ClassVar[int]
    AFTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    same_request: bool
    after_seconds: float
    max_attempts: int
    idempotency_key: IdempotencyKey
    def __init__(self, same_request: _Optional[bool] = ..., after_seconds: _Optional[float] = ..., max_attempts: _Optional[int] = ..., idempotency_key: _Optional[_Union[IdempotencyKey, str]] = ...) -> None: ...

class Loop(_message.Message):
    __slots__ = ("fingerprint", "attempt", "action")
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    attempt: int
    action: LoopAction
    def __init__(self, fingerprint: _Optional[str] = ..., attempt: _Optional[int] = ..., action: _Optional[_Union[LoopAction, str]] = ...) -> None: ...

class Suggestion(_message.Message):
    __slots__ = ("action", "base_action", "message", "parameters_json", "patch", "steps", "applicability", "placeholders", "verification", "confidence", "safety", "group", "evidence")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    BASE_ACTION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_JSON_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    APPLICABILITY_FIELD_NUMBER: _ClassVar[int]
    PLACEHOLDERS_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SAFETY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    action: str
    base_action: str
    message: str
    parameters_json: str
    patch: _containers.RepeatedCompositeFieldContainer[PatchOperation]
    steps: _containers.RepeatedCompositeFieldContainer[StepRequest]
    applicability: Applicability
    placeholders: _containers.RepeatedCompositeFieldContainer[Placeholder]
    verification: Verification
    confidence: Confidence
    safety: Safety
    group: Group
    evidence: Evidence
    def __init__(self, action: _Optional[str] = ..., base_action: _Optional[str] = ..., message: _Optional[str] = ..., parameters_json: _Optional[str] = ..., patch: _Optional[_Iterable[_Union[PatchOperation, _Mapping]]] = ..., steps: _Optional[_Iterable[_Union[StepRequest, _Mapping]]] = ..., applicability: _Optional[_Union[Applicability, str]] = ..., placeholders: _Optional[_Iterable[_Union[Placeholder, _Mapping]]] = ..., verification: _Optional[_Union[Verification, _Mapping]] = ..., confidence: _Optional[_Union[Confidence, _Mapping]] = ..., safety: _Optional[_Union[Safety, _Mapping]] = ..., group: _Optional[_Union[Group, _Mapping]] = ..., evidence: _Optional[_Union[Evidence, _Mapping]] = ...) -> None: ...

class PatchOperation(_message.Message):
    __slots__ = ("op", "path", "value_json")
    OP_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    op: PatchVerb
    path: str
    value_json: str
    def __init__(self, op: _Optional[_Union[PatchVerb, str]] = ..., path: _Optional[str] = ..., value_json: _Optional[str] = ..., **kwargs) -> None: ...

class StepRequest(_message.Message):
    __slots__ = ("method", "path", "query_json", "headers", "body_json")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    QUERY_JSON_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    BODY_JSON_FIELD_NUMBER: _ClassVar[int]
    method: str
    path: str
    query_json: str
    headers: _containers.ScalarMap[str, str]
    body_json: str
    def __init__(self, method: _Optional[str] = ..., path: _Optional[str] = ..., query_json: _Optional[str] = ..., headers: _Optional[_Mapping[str, str]] = ..., body_json: _Optional[str] = ...) -> None: ...

class Placeholder(_message.Message):
    __slots__ = ("pointer", "ask", "schema_json")
    POINTER_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    pointer: str
    ask: Ask
    schema_json: str
    def __init__(self, pointer: _Optional[str] = ..., ask: _Optional[_Union[Ask, str]] = ..., schema_json: _Optional[str] = ...) -> None: ...

class Verification(_message.Message):
    __slots__ = ("status", "method")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    status: VerificationStatus
    method: VerificationMethod
    def __init__(self, status: _Optional[_Union[VerificationStatus, str]] = ..., method: _Optional[_Union[VerificationMethod, str]] = ...) -> None: ...

class Confidence(_message.Message):
    __slots__ = ("basis", "value", "successes", "trials")
    BASIS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SUCCESSES_FIELD_NUMBER: _ClassVar[int]
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    basis: ConfidenceBasis
    value: float
    successes: int
    trials: int
    def __init__(self, basis: _Optional[_Union[ConfidenceBasis, str]] = ..., value: _Optional[float] = ..., successes: _Optional[int] = ..., trials: _Optional[int] = ...) -> None: ...

class Safety(_message.Message):
    __slots__ = ("side_effects", "changes_intent", "requires_confirmation", "loses")
    SIDE_EFFECTS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_INTENT_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    LOSES_FIELD_NUMBER: _ClassVar[int]
    side_effects: SideEffects
    changes_intent: bool
    requires_confirmation: bool
    loses: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, side_effects: _Optional[_Union[SideEffects, str]] = ..., changes_intent: _Optional[bool] = ..., requires_confirmation: _Optional[bool] = ..., loses: _Optional[_Iterable[str]] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("id", "relation")
    ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    id: str
    relation: Relation
    def __init__(self, id: _Optional[str] = ..., relation: _Optional[_Union[Relation, str]] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("kind", "rule", "lookups", "pointer")
    KIND_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    kind: EvidenceKind
    rule: str
    lookups: _containers.RepeatedScalarFieldContainer[str]
    pointer: str
    def __init__(self, kind: _Optional[_Union[EvidenceKind, str]] = ..., rule: _Optional[str] = ..., lookups: _Optional[_Iterable[str]] = ..., pointer: _Optional[str] = ...) -> None: ...
