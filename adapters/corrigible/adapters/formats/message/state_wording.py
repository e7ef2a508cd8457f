"""Sentences about the state of an API: what it holds, has switched on, or lets its callers do.

No other value of the request helps where one of them is the reason: something has to change outside of the request.
The wordings are data, by the kind of their grammar. Each holds for any API: they have no nouns of one of them.

Knows: one sentence. Does not know: requests, descriptions, what follows.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from .doubt import is_doubtful, sentence
from .pattern_list import PatternList


class Reason(Enum):
    """Why a request is refused, if that is about no value of it."""

    CREDENTIALS = "the caller is not known"
    RIGHT = "the caller may not do this"
    FEATURE = "it is switched off, not set up, or not part of this installation"
    STATE = "what the request is about is in another state"
    IN_USE = "something else needs what the request would take away"
    FIXED = "it takes no changes"
    LIMIT = "no more of it may be there"


class Wording(NamedTuple):
    """One way to say a reason."""

    reason: Reason
    pattern: str
    example: str
    """A message of a server that says it in this way."""
    is_plain: bool = False
    """Whether it says so whatever else the sentence has: words such as "field" do not make it doubtful."""


_NOT: Final = r"(?: not|n[o']t|n't)"
_CANNOT: Final = r"(?:can ?not|can'?t|may not|must not)"
_TAKE_AWAY: Final = r"(?:delete|remove|destroy|drop|uninstall|purge|detach|unassign|revoke)"
_ACT: Final = (
    r"(?:edit|modify|rename|cancel|stop|start|restart|pause|resume|enable|disable|activate|deactivate|archive|unarchive"
    r"|publish|unpublish|restore|revert|merge|approve|reject|close|reopen|lock|unlock|transfer|promote|demote|migrate"
    r"|refund|capture|void|ship|fulfill|complete|finali[sz]e|replay|rerun|retry|roll ?back|undo|duplicate|leave|join"
    r"|commit|resize|rebuild|deploy|redeploy|upgrade|downgrade|evacuate|suspend|unsuspend|shelve|rescue|checkpoint)"
)
_DONE: Final = (
    r"(?:deleted|removed|destroyed|edited|modified|renamed|cancell?ed|stopped|started|restarted|paused|resumed|enabled"
    r"|disabled|deactivated|archived|published|unpublished|restored|reverted|merged|approved|rejected|closed"
    r"|reopened|unlocked|transferred|promoted|migrated|refunded|captured|voided|shipped|completed|uninstalled"
    r"|installed|detached|attached|unassigned|revoked|undone|duplicated|resized|deployed|upgraded|rotated|patrolled"
    r"|changed|updated|altered|moved|overwritten|replaced|reused|downloaded|accessed)"
)
_STATE: Final = (
    r"(?:active|inactive|running|started|stopped|paused|suspended|ready|open|closed|locked|archived|published|draft"
    r"|deleted|trashed|cancell?ed|complete|completed|finished|failed|pending|expired|blocked|banned|connected"
    r"|disconnected|attached|detached|mounted|assigned|associated|linked|installed|initiali[sz]ed|verified|confirmed"
    r"|approved|rejected|paid|refunded|captured|shipped|fulfilled|settled|voided|mergeable|online|offline|enrolled"
    r"|subscribed|deployed|scheduled|queued|processed|processing|frozen|protected|activated|deactivated|merged"
    r"|migrated|provisioned|submitted|accepted|joined|invited|logged in|signed in|up to date|set ?up)"
)
_ROLE: Final = (
    r"(?:admins?|administrators?|owners?|superusers?|staff|moderators?|maintainers?|members?|authors?|creators?"
    r"|managers?|supervisors?|organi[sz]ers?)"
)
_PLACE: Final = (
    r"(?:server|instance|installation|database|platform|system|device|deployment|environment|site|wiki|plan|edition"
    r"|licen[cs]e|mode|cluster|backend|host|hardware|kernel|region|tenant|organi[sz]ation|workspace|account"
    r"|subscription|project|collection|repository|store|event|node|provider)"
)
_NO_SUPPLY: Final = (
    r"(?:permission|privilege|scope|role|access|right|data|length|entropy|param|argument|info|detail|character)"
)
"""What is not enough of itself: no limit is reached by it."""
_CONTAINER: Final = (
    r"(?:directory|folder|bucket|container|namespace|database|collection|repository|group|queue|volume|pool|cluster)"
)
_NO_THING: Final = (
    r"(?:fields?|param(?:eter)?s?|propert(?:y|ies)|attributes?|arguments?|columns?|keys?|options?|values?|lines?|rows?)"
)
_WORDS: Final = r"(?:[\w'-]+ ){0,3}"

WORDINGS: Final = (
    # Who asks.
    Wording(
        Reason.CREDENTIALS,
        r"\b(?:authentication|authorization|log[ -]?in) (?:is |was )?(?:required|needed|missing)\b"
        r"|\b(?:must|need to|have to|please) (?:first )?(?:be )?(?:logged[ -]in|signed[ -]in|log[ -]?in"
        r"|sign[ -]in|authenticated?)\b|\bnot (?:logged in|signed in|authenticated)\b|\bunauthenticated\b",
        "You must be logged in to link accounts.",
        is_plain=True,
    ),
    Wording(
        Reason.CREDENTIALS,
        r"^(?:missing|no|invalid) (?:or (?:missing|invalid|malformed|expired) )?(?:authorization|authentication"
        r"|auth|api|access"
        r"|bearer)[ -](?:header|token|key|credentials)(?: (?:was |is )?(?:provided|given|supplied|specified|found"
        r"|present|set))?\W*$"
        r"|^(?:the |your )?(?:api|access|bearer|auth\w*)[ -](?:key|token|header) (?:is |was )?(?:missing|required"
        r"|not provided|not present)\W*$",
        "Missing Authorization Header",
        is_plain=True,
    ),
    Wording(
        Reason.CREDENTIALS,
        r"^(?:missing or (?:invalid|malformed|expired)|(?:invalid|malformed|expired) or missing) credentials\W*$",
        "Missing or invalid credentials.",
        is_plain=True,
    ),
    Wording(
        Reason.CREDENTIALS,
        r"^(?:missing|no) (?:(?:api|auth|access|bearer|session|security)[ -])?(?:key|token|credentials)"
        r" (?:(?:was |is )?(?:provided|present|given|sent) )?(?:in|on|with) (?:the |your |this )?"
        r"(?:(?:http|request) )?(?:request|headers?)\W*$",
        "No token in the request",
        is_plain=True,
    ),
    # Who may do it.
    Wording(
        Reason.RIGHT,
        r"(?:\bno|\bnot have|n't have|\blacks?|lacking|without|insufficient|not enough|needs?|requires?)\b.{0,40}"
        r"\b(?:permissions?|privileges?|(?:access|user|admin) rights)\b",
        "You do not have permission to deactivate this workflow.",
        is_plain=True,
    ),
    Wording(
        Reason.RIGHT,
        r"(?:\bnot|n't) have access\b|\bhas no access\b|\b(?:permissions?|privileges?) (?:is |are "
        r"|was )?(?:required|denied|insufficient)\b"
        r"|\baccess (?:is |was )?(?:denied|forbidden)\b|\binsufficient (?:scopes?|roles?|access)\b"
        r"|\b(?:admin(?:istrator)?|owner|write|edit|root|superuser) access (?:is |was )?(?:required|needed)\b"
        r"|\b(?:action|operation|request) (?:is |has been |was )?(?:restricted|prohibited|disallowed)\b"
        r"|\bis (?:admin|owner|superuser)s?-only\b",
        "Access denied for folder 12.",
        is_plain=True,
    ),
    Wording(
        Reason.RIGHT,
        r"\b(?:not (?:allowed|permitted|authori[sz]ed)|unauthori[sz]ed) to (?!be\b|have\b|contain|start|end|exceed)\w",
        "You are not authorized to create collections.",
        is_plain=True,
    ),
    Wording(
        Reason.RIGHT,
        rf"\bonly (?:an? |the )?{_WORDS}(?:{_ROLE}|users)\b.{{0,30}}\b(?:can|may|is allowed|are allowed)\b"
        rf"|\b(?:you|user|caller)\b.{{0,30}}\b(?:must|needs? to|has to|have to) be (?:an? |the )?{_WORDS}{_ROLE}\b"
        rf"|\b(?:you are|you're|user is|caller is){_NOT} (?:an? |the )?{_WORDS}{_ROLE}\b",
        "You must be an admin to select a destination assetstore.",
        is_plain=True,
    ),
    Wording(
        Reason.RIGHT,
        rf"\b{_CANNOT} \w+ .{{0,40}}\b(?:other users?|another user|someone else|your own|yourself)\b"
        r"|\byou have been (?:\w+ )?(?:blocked|banned|suspended)\b"
        rf"|^(?:the |this )?(?:account|user|role|principal|identity|client) (?:\S+ )?{_CANNOT} (?!be\b|have\b"
        r"|contain)\w",
        "Cannot add account data for other users.",
    ),
    # What is switched on or there at all.
    Wording(
        Reason.FEATURE,
        r"\b(?:is|are|was|been|be) (?:currently |globally |temporarily |administratively )?"
        r"(?:disabled|switched off|turned off)\b|\bis (?:currently )?closed\b"
        r"|^(?:[\w-]+ ){1,3}(?:disabled|suspended|deactivated)\W*$",
        "Editing of this wiki through the API is disabled.",
    ),
    Wording(
        Reason.FEATURE,
        rf"\b(?:is|are|has|have|was)(?:{_NOT}| never)(?: been| yet| currently)*"
        r" (?:enabled|configured|set[ -]?up|implemented|installed|activated|licensed|initiali[sz]ed|loaded)\b"
        r"|^not (?:yet )?implemented(?: yet)?\W*$",
        "Quick connect is not configured for credential type: oauth2",
    ),
    Wording(
        Reason.FEATURE,
        rf"\bnot (?:be )?(?:available|supported|possible|allowed|permitted|enabled)\b (?:yet )?"
        rf"(?:on|by|in|for|with|at|under|within) (?:this|the current|the|your|our) (?:[\w-]+ ){{0,2}}{_PLACE}\b"
        rf"|\b(?:this|your) (?:[\w-]+ )?{_PLACE} does{_NOT} (?:support|allow|permit|have)\b"
        rf"|\b(?:plan|subscription|licen[cs]e|edition|policy) does{_NOT} (?:allow|include|support|permit)\b",
        "Restore is not supported on this database.",
    ),
    Wording(
        Reason.FEATURE,
        r"\bonly (?:be )?(?:available|supported|possible|allowed|permitted|accessible|enabled)"
        r" (?:on|in|for|with|when|while|if|to|during|after|before|from|under)\b",
        "This command is only available on Raspberry Pi",
    ),
    Wording(
        Reason.FEATURE,
        r"^(?:there (?:is|are) )?no (?:[\w-]+ ){1,5}(?:is |are |has been |have been )?"
        r"(?:configured|installed|set ?up|enabled|connected|running|active)\b"
        r"|\b(?:requires?|needs?) (?:an? |the )?(?:[\w-]+ ){0,3}(?:licen[cs]e|subscription|edition|upgrade)\b"
        r"|\b(?:requires?|needs?) (?:an? |the )?(?:[\w-]+ ){1,3}(?:configuration|plugin|integration)\W*$"
        r"|\bnot (?:loaded|installed|enabled|configured|set up)\W*$|\bnot enabled (?:in|on|for|by)\b"
        r"|^(?:there (?:is|are) )?no (?:active|current|running|open|pending) [\w-]+(?: (?:set|selected|chosen))?\W*$"
        r"|^no [\w-]+ registered\W*$"
        r"|\bhas no [\w-]+ (?:configured|assigned|installed|attached|set up)\b",
        "No backup secrets store is configured.",
    ),
    Wording(
        Reason.FEATURE,
        r"\b(?:plugin|backend|driver|engine|implementation) does(?: not|n't) support \w+"
        r"|\blicen[cs]e (?:key )?(?:is |has |was )?(?:required|expired)\b|\bno (?:valid |active )?licen[cs]e\W*$"
        r"|^(?:please )?upgrade (?:to|your) .{1,40}\b(?:to|plan)\b"
        r"|\b(?:is|are)(?: [\w-]+){0,6} available only (?:in|on|with|to|for) (?!the (?:form|body|query)\b)"
        r"|\byou (?:must|need to|have to) upgrade to\b|^(?:un|not (?:yet )?)implemented: ",
        "No valid license",
        is_plain=True,
    ),
    Wording(
        Reason.FEATURE,
        r"^(?!filter|sort|order|us|pass|sett|specify|query|mix|combin|pag|search|provid|includ)[a-z]{2,12}ing\b.{1,100}"
        r"\b(?:is|are) (?:currently |temporarily )?(?:not|n't) (?:allowed|permitted|possible|available|enabled)\b"
        rf"|\bnot (?:available|possible) (?:until|while|as|because|since|without|for (?:an? )?{_STATE})\b"
        r"|\bnot (?:available|possible|supported|allowed|permitted)\b.{0,60} (?:until|while|since) (?:it|they|the"
        r"|this|its)\b"
        r"|^(?:chang|updat|delet|edit|remov|renam|mov|resiz|reduc|increas|add)ing [\w ]{1,60} is not (?:yet|currently)"
        r" (?:supported|implemented)\b"
        r"|\bdoes(?: not|n't) support (?:creat|updat|delet|edit|remov|renam|mov|resiz|restor|cancel|paus|restart)ing\b",
        "Changing the language of a page is not allowed on this wiki.",
    ),
    # What something else needs.
    Wording(
        Reason.IN_USE,
        r"\b(?:is|are) (?:still |currently |being |already )*(?:used|referenced|attached|associated|mounted"
        r"|linked|bound|required|needed|depended on) (?:by|with|to|on|in)\b|\b(?:is|are|still|currently) (?:still "
        r"|currently )?in use\b"
        r"|\b(?:is|are) (?:still )?being used\W*$|\bhas associated \w"
        r"|\bstill (?:being )?used\b|\b(?:still has|has (?:open|active|running|pending|unpaid|outstanding"
        r"|dependent|unfinished|attached)) \w|\bdepends? on (?!itself)|\bdependen(?:t|ts|cies)\b",
        "The Artifact cannot be deleted because it is associated with Content.",
    ),
    Wording(
        Reason.IN_USE,
        rf"\b{_CONTAINER}(?: (?:['\"`][^'\"`]{{1,200}}['\"`]|[^\s:]*[\d/][^\s:]*|you tried to \w+))?"
        r"(?: is)? not empty\b",
        "Directory not empty: reports",
        is_plain=True,
    ),
    # The state of what the request is about.
    Wording(
        Reason.STATE,
        rf"\b(?:is|are|was|were|has|have|been)(?:{_NOT})? (?:already|currently|still|yet|no longer|never) (?:been )?"
        rf"(?:in (?:the|this|an?) |an? |part of )?(?:[\w-]+ )?{_STATE}\b"
        rf"|\balready (?:been )?(?:{_STATE}|{_DONE})\b|\b(?:is|are|has|have) already (?:in (?:the|this)"
        rf"|an? {_ROLE}|part of)\b",
        "The invoice has already been canceled.",
    ),
    Wording(
        Reason.STATE,
        rf"\b(?:is|are|was|were|has|have)(?:{_NOT})(?: yet| currently| been| in (?:an? |the ))* {_STATE}\b"
        rf"|\bnot (?:yet )?(?:been )?{_STATE} yet\b|\bnot (?:running|connected|ready|verified|confirmed|activated"
        r"|approved|published)\W*$|\b(?:is"
        rf"|are)(?:{_NOT}) an? {_STATE}\b"
        r"|\bno longer (?:available|active|open|running|supported)\b"
        r"|\b(?:is|are) not currently (?:available|supported|possible|allowed)\b",
        "Container web-1 is not running",
    ),
    Wording(
        Reason.STATE,
        rf"\b(?:while|when|because|since|as|if) (?:it|they|the \w+|this \w+|its \w+) (?:is|are|has|was)\b.{{0,40}}"
        rf"\b(?:{_STATE}|in (?:the |an? )?(?:state|status|use|progress)|state|status|phase|maintenance)\b"
        rf"|\b{_CANNOT} .{{1,80}}\bwhile (?:it|they|the \w+) (?:is|are)\b|\b(?:is|are) currently \w{{3,}}ing\b"
        r"|\bin (?:the |an? |its )?(?:current |invalid |wrong )?['\"]?[\w-]{0,30}['\"]? ?(?:state|status|phase)\b",
        "Cannot update portgroup p1 on node n1 while it is in state active.",
    ),
    Wording(
        Reason.STATE,
        r"\b(?:status|state) must be (?!one of|an?\b|set\b)['\"\w]+ (?:to|before|in order|but)\b"
        r"|\bcurrent (?:status|state)(?: is|:| \()|\b(?:status|state):? [\w'\"-]+ is invalid, valid status"
        r"|\binvalid (?:resource )?state\b\W*$",
        "Volume v1 status must be available to update readonly flag, but current status is: in-use.",
    ),
    Wording(
        Reason.STATE,
        r"\b(?:must|needs? to|has to|have to|should) (?:first )?be \w+ed "
        r"(?:first\b|before (?:you|it|being|\w+ing|.{1,60}\bcan be)\b)"
        r"|\b(?:must|needs? to|has to|have to) (?:first )?be (?:set up|enabled|configured|activated|installed"
        r"|verified|confirmed"
        r"|published|archived|closed|started|running|stopped|paused)(?=\W*$| (?:first|before|to|in order)\b)"
        rf"|\bmust .{{1,60}}\bbefore (?!the\b)\w{{4,}}ing\b"
        rf"|\b(?:{_ACT}|{_TAKE_AWAY}) (?:it|them|(?:the|this) [\w-]+) before (?:it|\w+ing)\b"
        rf"|(?:^|[,.;:(] ?)(?:please )?(?:{_ACT}|{_TAKE_AWAY}|close|disconnect|unmount|unlink) .{{1,40}}\bfirst\b",
        "Volume v1 is still attached, detach volume first.",
    ),
    Wording(
        Reason.STATE,
        r"\b(?:is|are|already|currently|still)(?: already| currently| still)* in progress\b|\bin progress\W*$"
        r"|\b(?:is|are) being \w{3,}ed\b(?! by\b)|\b(?:in|under) maintenance\b"
        rf"|\b{_CANNOT} be (?:performed|carried out|executed|done) (?:for|on|in|by|while|when|because)\b"
        rf"|\bcan only be (?:{_DONE}|done|made|run|sent|deleted|created|used) (?:when|while|if|after|before|once|until"
        r"|during)\b",
        "Draft orders can only be deleted while they are open.",
    ),
    Wording(
        Reason.STATE,
        rf"^(?:you )?{_CANNOT} (?:{_ACT}|{_TAKE_AWAY}|create|add|update|change)\b.{{0,60}}?"
        rf"\b(?:{_STATE}|only|last|default|built-?in|primary|root|currently \w+|non[ -]\w+|production)\b",
        "Cannot create shipment for a canceled fulfillment",
    ),
    Wording(
        Reason.STATE,
        r"\b(?:has|have|is|are|was|were) (?:been )?(?:expired|ended|archived|deleted|trashed|suspended|discontinued"
        r"|cancell?ed|closed|completed|terminated|merged|rejected|blocked|decommissioned|revoked|too old)\b"
        r"|\b(?:deadline|period|window|time) (?:for .{1,40} )?(?:has|is) (?:passed|ended|over|expired)\b"
        r"|^(?:already )?(?:completed|closed|terminated|stopped|finished|archived|cancell?ed) [\w-]+\W*$",
        "The room has been deleted",
    ),
    Wording(
        Reason.STATE,
        r"^(?:the |this |that )?(?:[\w-]+ ){1,2}(?:is|are) (?:currently |now )?(?:offline|paused|suspended|stopped"
        r"|archived|unreachable|disconnected|asleep|powered off|out of (?:service|order))\W*$",
        "Agent is offline",
    ),
    Wording(
        Reason.STATE,
        r"\bconflicts? with (?:an? |the |one or more )?(?:existing|previous(?:ly)?|other|another|already)\b",
        "Some of the entries conflict with previously accepted ones.",
    ),
    Wording(
        Reason.STATE,
        rf"^(?:the |this )?(?!{_NO_THING}\b)[a-z][\w-]* ['\"`]?[\w-]*\d[\w-]*['\"`]?"
        rf" has no (?!such\b|{_NO_THING}\b)[\w-]+(?:[;,.] |\W*$)",
        "Order 17 has no recipient; nothing can be shipped",
        is_plain=True,
    ),
    Wording(
        Reason.STATE,
        r"\b(?:is|are)(?: not|n't) (?:yet |currently |now )?"
        r"(?:accepting|awaiting|taking|expecting|eligible|due|waiting)\b"
        r"|\b(?:modified|changed|updated|edited) by (?:another|someone|somebody|a different)\b"
        r"|\bconcurrency (?:conflict|error|violation)\b|^(?:the |this )?[\w-]+ (?:is )?(?:locked|blocked|block)[.!]?$"
        r"|\bfor (?:this|the|its) (?:current )?(?:[\w-]+ ){0,2}(?:state|status|phase)\b"
        r"|^(?:the |this )?[\w-]+ has no (?:active|published|current|open|valid|available) [\w-]+[.!]?$"
        r"|\bis (?:already |currently |still )?(?:occupied|booked|sold|unavailable)\b",
        "This campaign is not accepting investments",
    ),
    Wording(
        Reason.STATE,
        r"^(?:the |this |that )?[a-z][\w-]* (?:was )?"
        r"(?:deleted|archived|closed|expired|cancell?ed|completed|suspended)[.!]?$"
        r"|^(?:(?:you|they|he|she|user|the user|it) (?:are|is) )?not (?:an? |in |part of |following|subscribed|enrolled"
        r"|attached|joined|assigned|linked|connected)(?:\w* (?:of|to|in|on|from) (?:the|this|that) [\w-]+|)[.!]?$"
        r"|\bdo(?:es)?(?: not|n't) have (?:an? |any )?(?:active|pending|open|current|existing) [\w-]+",
        "User does not have a pending request",
    ),
    Wording(
        Reason.STATE,
        r"\b(?:invalid|illegal|disallowed) (?:\w+ ){0,2}transition\b|\btransition\b.{0,60}\bnot (?:allowed|possible)\b"
        r"|^(?:[\w-]+ )?approval (?:is )?required\W*$|\b(?:is|are) (?:currently )?busy\b",
        "invalid status transition",
        is_plain=True,
    ),
    Wording(
        Reason.RIGHT,
        r"^only (?:the |an? )?(?!(?:[\w-]+ ){0,4}(?:digits?|letters?|words?|symbols?|spaces?|characters?|numbers?"
        r"|files?|images?|urls?|types?|formats?|queries|fields?|values?) (?:can|may))[a-z][\w -]{2,40} (?:can|may) "
        r"(?!be\b|have\b|contain|appear|include|start|end|use\b|hold|take\b|accept)[a-z]{3,}",
        "Only the sender or the recipient can review this",
    ),
    Wording(
        Reason.STATE,
        r"\bmust (?:keep|retain|remain|leave) at least (?:one|1)\b"
        rf"|\bcan only be \w+ (?:to|on|in|for|from|by|with) (?:an? |the )?{_STATE}\b",
        "A group must keep at least one admin",
        is_plain=True,
    ),
    Wording(
        Reason.STATE,
        r"\balready (?:been )?"
        r"(?!exist|in use|taken|used|registered|there\b|present|defined|known|assigned to|exceeded|reached)[a-z]{3,}",
        "User has already voted on this poll",
    ),
    # What takes no changes.
    Wording(
        Reason.FIXED,
        rf"^(?:you )?{_CANNOT} {_TAKE_AWAY}\b|\b{_CANNOT} be (?:deleted|removed|destroyed|uninstalled)\b",
        "Cannot remove host h1 in aggregate 4",
    ),
    Wording(
        Reason.FIXED,
        r"\b(?:is|are) (?:read[ -]?only|immutable|write[ -]protected|protected|frozen|locked"
        r"|not (?:editable|modifiable|mutable|deletable|removable|cancell?able))\b"
        r"|^(?:this |the )?(?:operation|action) (?:is )?not (?:permitted|allowed)\b",
        "Store s1 is read-only in glance.",
    ),
    Wording(
        Reason.FIXED,
        rf"^(?:you )?{_CANNOT} {_ACT}\b(?! (?:multiple|both|all|any|with)\b)|^you {_CANNOT} (?:add|create|access"
        r"|view|see|do"
        rf"|perform|register|book|invite|clear|disconnect|change|update)\b|\b{_CANNOT} be {_DONE}\b",
        "Archived triggers can not be updated.",
    ),
    # How much there may be.
    Wording(
        Reason.LIMIT,
        r"\b(?:quota|storage|capacity|plan|account|subscription|usage)\b[\w ]{0,30}\b(?:exceeded|reached"
        r"|exhausted|full)\b|^(?:[\w-]+ ){0,4}limit (?:has been |was |is )?(?:exceeded|reached)\b"
        r"|\balready (?:has|have) the maximum\b|\breached the maximum\b|\bplease (?:delete|remove) (?:some|old"
        r"|unused)\b|\bmaximum (?:number|amount"
        r"|count) (?:of [\w ]{1,40} )?(?:has been |was |is )?(?:exceeded|reached)\b"
        r"|\b(?:exceeded|reached) (?:the|your) (?:maximum number|(?:[\w-]+ )?limit|quota)\b|\bquota exceeded\b",
        "Storage limit exceeded",
    ),
    Wording(
        Reason.LIMIT,
        r"\bmax(?:imum)? (?:(?!length|size|nest|query|json|recursion)[\w-]+ ){1,4}(?:reached|exceeded)\b",
        "Unable to create additional credentials, maximum of 3 already exceeded for user.",
    ),
    Wording(
        Reason.LIMIT,
        r"\bno more [\w ]{1,30}\b(?:allowed|available|possible|left|can be)\b"
        r"|\b(?:no|not enough|insufficient)(?: free| available| disk)* (?:space|capacity|places|seats|slots|credits?"
        r"|balance|funds)\b|n't have enough (?:free |available |disk )*(?:space|capacity|memory)\b"
        r"|\btoo many (?:active|open|failed|pending|running|concurrent|existing)\b",
        "No more retakes allowed on this task",
    ),
    Wording(
        Reason.LIMIT,
        rf"\b(?:insufficient|not enough) (?:in )?(?!{_NO_SUPPLY})[a-z]{{3,}}"
        r"|\bexceed(?:s|ed|ing)? (?:the |your )?"
        r"(?!(?:[\w-]+ )?(?:size|length|maximum|max|character|word)\b)(?:[a-z-]+ ){0,2}(?:limit|quota|allowance)\b"
        r"|\b(?:is|are) (?:already |currently |now )?(?:sold out|fully booked|out of stock|at capacity)"
        r"|\bonly (?:accept |have |add |make )?one [\w ]{1,30}? (?:per|for each|at a time)\b",
        "Insufficient points",
    ),
)

_OF_STATE: Final = re.compile(
    r"(?i)\b(?:already|exists?|existing|duplicate|conflicts?|in use|in progress|not found|no such|expired?"
    r"|too many|quota|limit reached|exceeded|locked|busy|unavailable|time[d ]?out|disabled|archived|closed"
    r"|depends? on|dependen\w+|not (?:yet )?(?:ready|running|started|active|enabled|available)|in (?:the )?\w+ state)\b"
)
"""Words of complaints about what the server holds, which no description of requests tells."""
_PATTERNS: Final = PatternList(*(one.pattern for one in WORDINGS))


def told_reason(message: str) -> Reason | None:
    """Return why a request is refused, where a message says that this is about no value of it; None where it"
    " does not."""
    text = sentence(message)
    found = _PATTERNS.search(text)
    if found is None:
        return None
    wording = WORDINGS[found.number]
    return None if is_doubtful(text, is_plain=wording.is_plain) else wording.reason


def is_state_word(word: str) -> bool:
    """Whether a word tells a state, and no thing."""
    return _STATE_WORD.fullmatch(word) is not None


_STATE_WORD: Final = re.compile(_STATE, re.IGNORECASE)


def speaks_of_state(message: str) -> bool:
    """Whether a message has words of what the server holds: what the description finds elsewhere is not meant then."""
    return _OF_STATE.search(message) is not None or told_reason(message) is not None
