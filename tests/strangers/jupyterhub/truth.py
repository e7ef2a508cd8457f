# ruff: noqa: E501
ABOUT = dict(
    server="JupyterHub",
    version="6.1.1",
    framework="Tornado, checks by hand, pydantic",
    language="Python",
    licence="BSD-3-Clause",
    date="2026-11-23",
    description="rest-api.yml",
    note="The description that its documentation ships, unchanged. Dummy authenticator, SimpleLocalProcessSpawner; user names begin with a small letter; two named servers for each user; one server may start at a time; two services with tokens: `boss` (users, servers, groups, shares, services), used unless the case says otherwise, and `helpdesk` (reads users and groups). A server of the user `busy` runs; that of a user `slow...` never gets ready.",
)
CASES = []
H = "/hub/api"
HELP = "token helpdesk-token-0123456789"


def R(method, path, body=None, ct=None, auth=None, save=None, headers=None):
    return dict(
        method=method,
        path=path if path.startswith("!") is False else path[1:],
        body=body,
        ct=ct,
        auth=auth,
        save=save or {},
        headers=headers or {},
    )


def case(name, kind, cls, req, fix=(), at=(), setup=(), term=False, note=""):
    CASES.append(
        dict(
            name=name, kind=kind, cls=cls, req=req, fix=list(fix), at=list(at), setup=list(setup), term=term, note=note
        )
    )


def P(path):
    return H + path


USER = R("POST", P("/users"), {"usernames": ["u{n}"]})
TWO = R("POST", P("/users"), {"usernames": ["u{n}", "v{n}"]})
LAB = R("PUT", P("/users/u{n}/servers/lab"))
DEN = R("PUT", P("/users/u{n}/servers/den"))
GROUP = R("POST", P("/groups/g{n}"), {"users": []})
TOKEN = R("POST", P("/users/u{n}/tokens"), {"note": "own"}, save={"tok": "token"})
ROOT = R("POST", P("/users/root1/tokens"), {"note": "own"}, save={"tok": "token"})
WHEN = "2026-11-20T10:00:00Z"

# ---------------------------------------------------------------- users
case(
    "users_misspelt",
    "misspelt",
    "auto",
    R("POST", P("/users"), {"user_names": ["u{n}"]}),
    [R("POST", P("/users"), {"usernames": ["u{n}"]})],
)
case(
    "users_text",
    "wrong type",
    "auto",
    R("POST", P("/users"), {"usernames": "u{n}"}),
    [R("POST", P("/users"), {"usernames": ["u{n}"]})],
    note="the server reads the text letter by letter and complains of the digits",
)
case(
    "users_list",
    "value in wrong place",
    "auto",
    R("POST", P("/users"), ["u{n}"]),
    [R("POST", P("/users"), {"usernames": ["u{n}"]})],
    note="the only list of the body",
)
case(
    "users_admin_text",
    "wrong type",
    "auto",
    R("POST", P("/users"), {"usernames": ["u{n}"], "admin": "false"}),
    [R("POST", P("/users"), {"usernames": ["u{n}"], "admin": False})],
)
case(
    "users_comma",
    "malformed JSON",
    "auto",
    R("POST", P("/users"), '{"usernames": ["u{n}"],}', ct="application/json"),
    [R("POST", P("/users"), {"usernames": ["u{n}"]})],
)
case(
    "users_form",
    "wrong media type",
    "auto",
    R("POST", P("/users"), {"usernames": ["u{n}"]}, ct="application/x-www-form-urlencoded"),
    [R("POST", P("/users"), {"usernames": ["u{n}"]})],
    note="the server reads JSON, whatever the media type says",
)
case(
    "user_username",
    "misspelt",
    "either",
    R("PATCH", P("/users/u{n}"), {"username": "w{n}"}),
    [R("PATCH", P("/users/u{n}"), {"name": "w{n}"})],
    at=["/body/username", "/body/name"],
    setup=[USER],
)
case("user_singular", "wrong path", "auto", R("GET", P("/user/u{n}")), [R("GET", P("/users/u{n}"))], setup=[USER])
case(
    "user_put",
    "wrong method",
    "auto",
    R("PUT", P("/users/u{n}"), {"name": "w{n}"}),
    [R("PATCH", P("/users/u{n}"), {"name": "w{n}"})],
    setup=[USER],
    note="changes a user that is there; POST makes one",
)
case("state_near", "enum", "auto", R("GET", P("/users?state=activ")), [R("GET", P("/users?state=active"))])
case(
    "state_other_word",
    "enum",
    "either",
    R("GET", P("/users?state=stopped")),
    [R("GET", P("/users?state=inactive"))],
    at=["/query/state"],
)
case(
    "limit_word",
    "query",
    "either",
    R("GET", P("/users?limit=ten")),
    [R("GET", P("/users?limit=10")), R("GET", P("/users"))],
    at=["/query/limit"],
)
case("limit_fraction", "query", "auto", R("GET", P("/users?limit=25.0")), [R("GET", P("/users?limit=25"))])
case(
    "name_near",
    "not found",
    "either",
    R("GET", P("/users/alcie{n}")),
    [R("GET", P("/users/alice{n}"))],
    at=["/path"],
    setup=[R("POST", P("/users"), {"usernames": ["alice{n}"]})],
)
case("user_unknown", "not found", "ask", R("GET", P("/users/nobody{n}")), at=["/path"], term=True)
case(
    "user_delete_twice",
    "already",
    "already",
    R("DELETE", P("/users/u{n}")),
    at=["/path"],
    setup=[USER, R("DELETE", P("/users/u{n}"))],
    note="404 with the word Not Found",
)
case(
    "users_again",
    "already",
    "already",
    R("POST", P("/users"), {"usernames": ["u{n}"]}),
    at=["/body/usernames"],
    setup=[USER],
)
case("user_again", "already", "already", R("POST", P("/users/u{n}")), at=["/path"], setup=[USER])
case(
    "user_name_taken",
    "conflict",
    "ask",
    R("PATCH", P("/users/u{n}"), {"name": "v{n}"}),
    at=["/body/name"],
    setup=[TWO],
    term=True,
)
case(
    "user_name_digit",
    "content",
    "ask",
    R("POST", P("/users"), {"usernames": ["9lives{n}"]}),
    at=["/body/usernames"],
    note="the pattern of names is configuration; nothing tells it",
)
case(
    "user_path_digit",
    "content",
    "ask",
    R("POST", P("/users/9lives{n}")),
    at=["/path"],
    term=True,
    note="'Failed to create user': no reason at all",
)
case(
    "user_rename_space",
    "content",
    "ask",
    R("PATCH", P("/users/u{n}"), {"name": "jo smith"}),
    at=["/body/name"],
    setup=[USER],
)
case(
    "user_make_admin",
    "permission",
    "never",
    R("POST", P("/users"), {"usernames": ["u{n}"], "admin": True}),
    note="boss is no administrator",
)
case("user_patch_admin", "permission", "never", R("PATCH", P("/users/root1"), {"name": "rex"}))
case(
    "user_delete_self",
    "state",
    "never",
    R("DELETE", P("/users/root1"), headers={"Authorization": "token {tok}"}),
    setup=[ROOT],
)

# ---------------------------------------------------------------- activity
case(
    "activity_camel",
    "misspelt",
    "auto",
    R("POST", P("/users/u{n}/activity"), {"lastActivity": WHEN}),
    [R("POST", P("/users/u{n}/activity"), {"last_activity": WHEN})],
    setup=[USER],
)
case(
    "activity_nested_camel",
    "misspelt",
    "auto",
    R("POST", P("/users/u{n}/activity"), {"servers": {"lab": {"lastActivity": WHEN}}}),
    [R("POST", P("/users/u{n}/activity"), {"servers": {"lab": {"last_activity": WHEN}}})],
    setup=[USER, LAB],
)
case(
    "activity_flat",
    "value in wrong place",
    "auto",
    R("POST", P("/users/u{n}/activity"), {"servers": {"lab": WHEN}}),
    [R("POST", P("/users/u{n}/activity"), {"servers": {"lab": {"last_activity": WHEN}}})],
    setup=[USER, LAB],
    note="the message tells the form",
)
case(
    "activity_list",
    "wrong type",
    "either",
    R("POST", P("/users/u{n}/activity"), {"servers": [{"name": "lab", "last_activity": WHEN}]}),
    [R("POST", P("/users/u{n}/activity"), {"servers": {"lab": {"last_activity": WHEN}}})],
    at=["/body/servers"],
    setup=[USER, LAB],
)
case(
    "activity_word",
    "format",
    "ask",
    R("POST", P("/users/u{n}/activity"), {"last_activity": "a while ago"}),
    at=["/body/last_activity"],
    setup=[USER],
)
case(
    "activity_future",
    "content",
    "ask",
    R("POST", P("/users/u{n}/activity"), {"last_activity": "2031-01-01T00:00:00Z"}),
    at=["/body/last_activity"],
    setup=[USER],
)
case(
    "activity_no_server",
    "not found",
    "ask",
    R("POST", P("/users/u{n}/activity"), {"servers": {"attic": {"last_activity": WHEN}}}),
    at=["/body/servers", "/body/servers/attic"],
    setup=[USER],
)
case(
    "activity_empty",
    "missing",
    "ask",
    R("POST", P("/users/u{n}/activity"), {}),
    at=["/body", "/body/last_activity", "/body/servers"],
    setup=[USER],
)

# ---------------------------------------------------------------- tokens
case(
    "token_expiry_text",
    "wrong type",
    "auto",
    R("POST", P("/users/u{n}/tokens"), {"expires_in": "3600"}),
    [R("POST", P("/users/u{n}/tokens"), {"expires_in": 3600})],
    setup=[USER],
)
case(
    "token_expiry_fraction",
    "wrong type",
    "flagged",
    R("POST", P("/users/u{n}/tokens"), {"expires_in": 90.5}),
    [R("POST", P("/users/u{n}/tokens"), {"expires_in": 90}), R("POST", P("/users/u{n}/tokens"), {"expires_in": 91})],
    at=["/body/expires_in"],
    setup=[USER],
    note="number by the description, integer by the server",
)
case(
    "token_scope_text",
    "wrong type",
    "auto",
    R("POST", P("/users/u{n}/tokens"), {"scopes": "self"}),
    [R("POST", P("/users/u{n}/tokens"), {"scopes": ["self"]})],
    setup=[USER],
)
case(
    "token_scope_near",
    "enum",
    "either",
    R("POST", P("/users/u{n}/tokens"), {"scopes": ["selff"]}),
    [R("POST", P("/users/u{n}/tokens"), {"scopes": ["self"]})],
    at=["/body/scopes", "/body/scopes/0"],
    setup=[USER],
    note="what the token may do",
)
case(
    "token_role_unknown",
    "not found",
    "ask",
    R("POST", P("/users/u{n}/tokens"), {"roles": ["janitor"]}),
    at=["/body/roles", "/body/roles/0"],
    setup=[USER],
    term=True,
)
case(
    "token_scope_too_much",
    "permission",
    "never",
    R("POST", P("/users/u{n}/tokens"), {"scopes": ["admin:users"]}),
    setup=[USER],
    note="more than the user may",
)
case(
    "token_no_user",
    "not found",
    "ask",
    R("POST", P("/users/nobody{n}/tokens"), {"note": "ci"}),
    at=["/path"],
    term=True,
    note="403: 'not found or no permissions'",
)
case(
    "token_unknown",
    "not found",
    "ask",
    R("DELETE", P("/users/u{n}/tokens/a99999999")),
    at=["/path"],
    setup=[USER],
    term=True,
)

# ---------------------------------------------------------------- servers
case(
    "server_display_number",
    "wrong type",
    "auto",
    R("PUT", P("/users/u{n}/servers/lab"), {"display_name": 7}),
    [R("PUT", P("/users/u{n}/servers/lab"), {"display_name": "7"})],
    setup=[USER],
)
case(
    "server_options_text",
    "wrong type",
    "ask",
    R("PUT", P("/users/u{n}/servers/lab"), {"user_options": "large"}),
    at=["/body/user_options"],
    setup=[USER],
)
case(
    "server_options_json",
    "wrong type",
    "auto",
    R("PUT", P("/users/u{n}/servers/lab"), {"user_options": '{"size": "large"}'}),
    [R("PUT", P("/users/u{n}/servers/lab"), {"user_options": {"size": "large"}})],
    setup=[USER],
)
case(
    "server_misspelt",
    "misspelt",
    "either",
    R("PATCH", P("/users/u{n}/servers/lab"), {"displayname": "My lab"}),
    [R("PATCH", P("/users/u{n}/servers/lab"), {"display_name": "My lab"})],
    at=["/body/displayname", "/body/display_name"],
    setup=[USER, LAB],
    note="500: the server fails while it writes its own complaint",
)
case(
    "server_patch_empty",
    "missing",
    "ask",
    R("PATCH", P("/users/u{n}/servers/lab"), {}),
    at=["/body", "/body/name", "/body/display_name", "/body/user_options"],
    setup=[USER, LAB],
)
case("server_again", "already", "already", R("PUT", P("/users/u{n}/servers/lab")), at=["/path"], setup=[USER, LAB])
case(
    "server_again_other",
    "conflict",
    "flagged",
    R("PUT", P("/users/u{n}/servers/lab"), {"display_name": "My lab"}),
    [R("PATCH", P("/users/u{n}/servers/lab"), {"display_name": "My lab"})],
    at=["/path", "/method"],
    setup=[USER, LAB],
)
case(
    "server_name_taken",
    "conflict",
    "ask",
    R("PATCH", P("/users/u{n}/servers/lab"), {"name": "den"}),
    at=["/body/name"],
    setup=[USER, LAB, DEN],
    term=True,
)
case(
    "server_name_space",
    "format",
    "flagged",
    R("PUT", P("/users/u{n}/servers/my%20lab")),
    [
        R("PUT", P("/users/u{n}/servers/my-lab")),
        R("PUT", P("/users/u{n}/servers/my_lab")),
        R("PUT", P("/users/u{n}/servers/mylab")),
    ],
    at=["/path"],
    setup=[USER],
)
case(
    "server_quota",
    "quota",
    "never",
    R("PUT", P("/users/u{n}/servers/attic")),
    setup=[USER, LAB, DEN],
    note="another one has to be deleted first: the caller's decision",
)
case(
    "server_unknown",
    "not found",
    "ask",
    R("DELETE", P("/users/u{n}/servers/attic"), {"remove": True}),
    at=["/path"],
    setup=[USER, LAB],
    term=True,
)
case(
    "server_patch_unknown",
    "not found",
    "ask",
    R("PATCH", P("/users/u{n}/servers/attic"), {"display_name": "Attic"}),
    at=["/path"],
    setup=[USER],
    term=True,
)
case(
    "server_default_remove",
    "state",
    "never",
    R("DELETE", P("/users/u{n}/servers/"), {"remove": True}),
    setup=[USER],
    note="the default server can only be stopped",
)
case("server_running", "already", "already", R("POST", P("/users/busy/server"), {}), note="'busy/ is already running'")
case(
    "server_active_patch",
    "state",
    "never",
    R("PATCH", P("/users/busy/servers/"), {"user_options": {"size": "large"}}),
    note="it has to be stopped first, which takes away what runs in it",
)

# ---------------------------------------------------------------- groups
case(
    "groups_name",
    "misspelt",
    "either",
    R("POST", P("/groups"), {"name": "g{n}"}),
    [R("POST", P("/groups/g{n}")), R("POST", P("/groups"), {"groups": ["g{n}"]})],
    at=["/body", "/body/groups", "/path"],
    note="not in the description: the collection takes `groups`",
)
case(
    "group_users_singular",
    "misspelt",
    "auto",
    R("POST", P("/groups/g{n}/users"), {"user": ["u{n}"]}),
    [R("POST", P("/groups/g{n}/users"), {"users": ["u{n}"]})],
    setup=[USER, GROUP],
)
case(
    "group_users_text",
    "wrong type",
    "auto",
    R("POST", P("/groups/g{n}/users"), {"users": "u{n}"}),
    [R("POST", P("/groups/g{n}/users"), {"users": ["u{n}"]})],
    setup=[USER, GROUP],
)
case(
    "group_users_list",
    "value in wrong place",
    "auto",
    R("POST", P("/groups/g{n}/users"), ["u{n}"]),
    [R("POST", P("/groups/g{n}/users"), {"users": ["u{n}"]})],
    setup=[USER, GROUP],
)
case(
    "group_users_none",
    "missing",
    "ask",
    R("POST", P("/groups/g{n}/users"), {}),
    at=["/body/users", "/body"],
    setup=[GROUP],
)
case(
    "group_user_unknown",
    "not found",
    "ask",
    R("POST", P("/groups/g{n}/users"), {"users": ["nobody{n}"]}),
    at=["/body/users", "/body/users/0"],
    setup=[GROUP],
)
case(
    "group_unknown",
    "not found",
    "ask",
    R("POST", P("/groups/nogroup{n}/users"), {"users": ["u{n}"]}),
    at=["/path"],
    setup=[USER],
    term=True,
)
case("group_again", "already", "already", R("POST", P("/groups/g{n}")), at=["/path"], setup=[GROUP])
case(
    "group_again_users",
    "conflict",
    "flagged",
    R("POST", P("/groups/g{n}"), {"users": ["u{n}"]}),
    [R("POST", P("/groups/g{n}/users"), {"users": ["u{n}"]})],
    at=["/path"],
    setup=[USER, GROUP],
)
case(
    "group_properties_list",
    "wrong type",
    "ask",
    R("PUT", P("/groups/g{n}/properties"), ["gpu"]),
    at=["/body"],
    setup=[GROUP],
)

# ---------------------------------------------------------------- shares
case(
    "share_misspelt",
    "misspelt",
    "auto",
    R("POST", P("/shares/u{n}/lab"), {"usr": "kim"}),
    [R("POST", P("/shares/u{n}/lab"), {"user": "kim"})],
    setup=[USER, LAB],
)
case(
    "share_user_list",
    "wrong type",
    "auto",
    R("POST", P("/shares/u{n}/lab"), {"user": ["kim"]}),
    [R("POST", P("/shares/u{n}/lab"), {"user": "kim"})],
    setup=[USER, LAB],
)
case(
    "share_scope_text",
    "wrong type",
    "auto",
    R("POST", P("/shares/u{n}/lab"), {"user": "kim", "scopes": "access:servers!server=u{n}/lab"}),
    [R("POST", P("/shares/u{n}/lab"), {"user": "kim", "scopes": ["access:servers!server=u{n}/lab"]})],
    setup=[USER, LAB],
)
case(
    "share_put",
    "wrong method",
    "either",
    R("PUT", P("/shares/u{n}/lab"), {"user": "kim"}),
    [R("POST", P("/shares/u{n}/lab"), {"user": "kim"})],
    at=["/method"],
    setup=[USER, LAB],
    note="PATCH takes the permission away",
)
case(
    "share_both",
    "contradiction",
    "ask",
    R("POST", P("/shares/u{n}/lab"), {"user": "kim", "group": "g{n}"}),
    at=["/body/user", "/body/group", "/body"],
    setup=[USER, LAB, GROUP],
)
case(
    "share_nobody",
    "missing",
    "ask",
    R("POST", P("/shares/u{n}/lab"), {"scopes": ["access:servers!server=u{n}/lab"]}),
    at=["/body/user", "/body/group", "/body"],
    setup=[USER, LAB],
)
case(
    "share_user_unknown",
    "not found",
    "ask",
    R("POST", P("/shares/u{n}/lab"), {"user": "nobody{n}"}),
    at=["/body/user"],
    setup=[USER, LAB],
)
case(
    "share_group_unknown",
    "not found",
    "ask",
    R("POST", P("/shares/u{n}/lab"), {"group": "nogroup{n}"}),
    at=["/body/group"],
    setup=[USER, LAB],
)
case(
    "share_server_unknown",
    "not found",
    "ask",
    R("POST", P("/shares/u{n}/attic"), {"user": "kim"}),
    at=["/path"],
    setup=[USER],
    term=True,
)
case(
    "share_scope_wide",
    "permission",
    "flagged",
    R("POST", P("/shares/u{n}/lab"), {"user": "kim", "scopes": ["access:servers!user=u{n}"]}),
    [
        R("POST", P("/shares/u{n}/lab"), {"user": "kim", "scopes": ["access:servers!server=u{n}/lab"]}),
        R("POST", P("/shares/u{n}/lab"), {"user": "kim"}),
    ],
    at=["/body/scopes", "/body/scopes/0"],
    setup=[USER, LAB],
    note="all servers of the owner were wished; one can be had",
)
case(
    "group_path_singular",
    "wrong path",
    "auto",
    R("POST", P("/group/g{n}/users"), {"users": ["u{n}"]}),
    [R("POST", P("/groups/g{n}/users"), {"users": ["u{n}"]})],
    setup=[USER, GROUP],
)
case(
    "servers_list",
    "wrong path",
    "either",
    R("GET", P("/users/u{n}/servers")),
    [
        R("GET", P("/users/u{n}")),
        R("GET", P("/users/u{n}?include_stopped_servers=true")),
        R("GET", P("/users/u{n}?include_stopped_servers=1")),
    ],
    at=["/path", "/method"],
    setup=[USER, LAB],
    note="there is no list of servers: the user has them",
)
case(
    "share_no_server",
    "wrong path",
    "ask",
    R("POST", P("/shares/u{n}"), {"user": "kim"}),
    at=["/path"],
    setup=[USER, LAB],
    term=False,
    note="405: which server is not said",
)
case(
    "code_expiry_short",
    "range",
    "flagged",
    R("POST", P("/share-codes/u{n}/lab"), {"expires_in": 10}),
    [R("POST", P("/share-codes/u{n}/lab"), {"expires_in": 60})],
    at=["/body/expires_in"],
    setup=[USER, LAB],
)
case(
    "code_expiry_word",
    "wrong type",
    "ask",
    R("POST", P("/share-codes/u{n}/lab"), {"expires_in": "a day"}),
    at=["/body/expires_in"],
    setup=[USER, LAB],
)
case(
    "code_unknown",
    "not found",
    "ask",
    R("DELETE", P("/share-codes/u{n}/lab?id=sc_999999")),
    at=["/query/id"],
    setup=[USER, LAB],
    term=True,
)
case(
    "shared_leave_none",
    "already",
    "already",
    R("DELETE", P("/users/kim/shared/u{n}/lab")),
    at=["/path"],
    setup=[USER, LAB],
    note="nothing is shared with kim",
)

# ---------------------------------------------------------------- services, rights
case("service_config", "immutable", "never", R("DELETE", P("/services/helpdesk")), note="405: from the configuration")
case(
    "service_managed",
    "state",
    "never",
    R("POST", P("/services/s{n}"), {"command": ["python3", "-m", "http.server"]}),
    note="not in the description",
)
case("helpdesk_create", "permission", "never", R("POST", P("/users"), {"usernames": ["u{n}"]}, auth=HELP))
case(
    "helpdesk_group",
    "permission",
    "never",
    R("POST", P("/groups/g{n}/users"), {"users": ["u{n}"]}, auth=HELP),
    setup=[USER, GROUP],
)
case(
    "user_token_other",
    "permission",
    "never",
    R("DELETE", P("/users/v{n}/server"), headers={"Authorization": "token {tok}"}),
    setup=[TWO, TOKEN],
    note="404: 'No access to resources or resources not found'",
)
case("no_token", "credentials", "never", R("GET", P("/users"), auth=""))
case("bad_token", "credentials", "never", R("GET", P("/groups"), auth="token 0123456789abcdef"))
case(
    "spawn_limit",
    "rate limit",
    "wait",
    R("POST", P("/users/u{n}/servers/lab"), {}),
    setup=[USER, LAB, R("POST", P("/users"), {"usernames": ["slow{n}"]}), R("POST", P("/users/slow{n}/server"), {})],
    note="another server is starting; Retry-After tells when",
)
