# ruff: noqa: E501
import os

ABOUT = dict(
    server="OpenStack Keystone",
    version="30.0.0",
    framework="Flask-RESTful, jsonschema, checks by hand",
    language="Python",
    licence="Apache-2.0",
    date="2026-11-23",
    description="openapi.json",
    note="Keystone serves no OpenAPI: the description is made, without choice, of its own routes and the JSON Schemas that its handlers hold (all that are checked before the handler; a body whose schema is checked inside the handler is a plain object). SQLite, Fernet tokens; projects are 3 deep at most, passwords have 7 characters with a letter and a digit, the last two must differ, 3 credentials for each user. The token is the bootstrapped administrator's, of the system; that of the member `mia` where the case says so.",
)
CASES = []
V = "/v3"
MIA = os.environ["MIA_TOKEN"]  # a token of the member mia


def R(method, path, body=None, ct=None, auth=None, save=None, headers=None):
    return dict(
        method=method,
        path=V + path if not path.startswith("!") else path[1:],
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


DOM = R("POST", "/domains", {"domain": {"name": "dom{n}"}}, save={"dom": "domain.id"})
DOMOFF = R("POST", "/domains", {"domain": {"name": "off{n}", "enabled": False}}, save={"off": "domain.id"})
PROJ = R("POST", "/projects", {"project": {"name": "pr{n}", "domain_id": "default"}}, save={"pid": "project.id"})
SUB = R("POST", "/projects", {"project": {"name": "sub{n}", "parent_id": "{pid}"}}, save={"sub": "project.id"})
USR = R(
    "POST",
    "/users",
    {"user": {"name": "us{n}", "domain_id": "default", "password": "Passw0rd{n}"}},
    save={"uid": "user.id"},
)
USR2 = R(
    "POST",
    "/users",
    {"user": {"name": "ut{n}", "domain_id": "default", "password": "Passw0rd{n}"}},
    save={"uid2": "user.id"},
)
GRP = R("POST", "/groups", {"group": {"name": "gr{n}", "domain_id": "default"}}, save={"gid": "group.id"})
ROLE = R("POST", "/roles", {"role": {"name": "ro{n}"}}, save={"rid": "role.id"})
SVC = R("POST", "/services", {"service": {"type": "compute", "name": "nova{n}"}}, save={"sid": "service.id"})
REG = R("POST", "/regions", {"region": {"id": "reg{n}"}})
EP = R(
    "POST",
    "/endpoints",
    {
        "endpoint": {
            "interface": "public",
            "url": "http://nova{n}.example/",
            "service_id": "{sid}",
            "region_id": "reg{n}",
        }
    },
    save={"eid": "endpoint.id"},
)
RL = R(
    "POST",
    "/registered_limits",
    {"registered_limits": [{"service_id": "{sid}", "resource_name": "cores", "default_limit": 10}]},
    save={"rl": "registered_limits.0.id"},
)
LIM = R(
    "POST",
    "/limits",
    {"limits": [{"service_id": "{sid}", "project_id": "{pid}", "resource_name": "cores", "resource_limit": 5}]},
    save={"lim": "limits.0.id"},
)
MEMBER = R("GET", "/roles?name=member", save={"member": "roles.0.id"})
READER = R("GET", "/roles?name=reader", save={"reader": "roles.0.id"})
ADMINROLE = R("GET", "/roles?name=admin", save={"adminrole": "roles.0.id"})
ADMIN = R("GET", "/users?name=admin", save={"admin": "users.0.id"})
APROJ = R("GET", "/projects?name=admin", save={"aproj": "projects.0.id"})


def user(**more):
    return {"user": {"name": "us{n}", "domain_id": "default", "password": "Passw0rd{n}", **more}}


def project(**more):
    return {"project": {"name": "pr{n}", "domain_id": "default", **more}}


# ---------------------------------------------------------------- users
case(
    "user_misspelt",
    "misspelt",
    "auto",
    R("POST", "/users", {"user": {"nmae": "us{n}", "domain_id": "default", "password": "Passw0rd{n}"}}),
    [R("POST", "/users", user())],
)
case(
    "user_unwrapped",
    "value in wrong place",
    "auto",
    R("POST", "/users", {"name": "us{n}", "domain_id": "default", "password": "Passw0rd{n}"}),
    [R("POST", "/users", user())],
)
case(
    "project_enabled_case",
    "enum",
    "auto",
    R("POST", "/projects", project(enabled="YES")),
    [R("POST", "/projects", project(enabled=True)), R("POST", "/projects", project(enabled="yes"))],
    note="the list holds yes and no, y and Y",
)
case(
    "user_enabled_number",
    "wrong type",
    "auto",
    R("POST", "/users", user(enabled=0)),
    [R("POST", "/users", user(enabled=False)), R("POST", "/users", user(enabled="0"))],
)
case(
    "user_no_name",
    "missing",
    "ask",
    R("POST", "/users", {"user": {"domain_id": "default", "password": "Passw0rd{n}"}}),
    at=["/body/user/name"],
)
case(
    "user_comma",
    "malformed JSON",
    "auto",
    R("POST", "/users", '{"user": {"name": "us{n}", "domain_id": "default",}}', ct="application/json"),
    [R("POST", "/users", {"user": {"name": "us{n}", "domain_id": "default"}})],
)
case(
    "user_text",
    "wrong media type",
    "auto",
    R("POST", "/users", '{"user": {"name": "us{n}", "domain_id": "default"}}', ct="text/plain"),
    [R("POST", "/users", {"user": {"name": "us{n}", "domain_id": "default"}})],
)
case(
    "user_put",
    "wrong method",
    "auto",
    R("PUT", "/users/{uid}", {"user": {"description": "tester"}}),
    [R("PATCH", "/users/{uid}", {"user": {"description": "tester"}})],
    setup=[USR],
)
case("user_singular", "wrong path", "auto", R("GET", "/user/{uid}"), [R("GET", "/users/{uid}")], setup=[USR])
case("users_no_version", "wrong path", "auto", R("GET", "!/users?name=admin"), [R("GET", "/users?name=admin")])
case(
    "users_v2",
    "wrong path",
    "either",
    R("GET", "!/v2.0/users?name=admin"),
    [R("GET", "/users?name=admin")],
    at=["/path"],
)
case(
    "user_by_name",
    "not found",
    "either",
    R("GET", "/users/us{n}"),
    [R("GET", "/users/{uid}"), R("GET", "/users?name=us{n}")],
    at=["/path"],
    setup=[USR],
    note="the name, where the identifier is needed",
)
case(
    "user_unknown",
    "not found",
    "ask",
    R("PATCH", "/users/00000000000000000000000000000000", {"user": {"description": "x"}}),
    at=["/path"],
    term=True,
)
case("user_again", "already", "already", R("POST", "/users", user()), at=["/body/user/name"], setup=[USR])
case(
    "user_name_taken",
    "conflict",
    "ask",
    R("PATCH", "/users/{uid}", {"user": {"name": "ut{n}"}}),
    at=["/body/user/name"],
    setup=[USR, USR2],
    term=True,
)
case(
    "user_password_weak",
    "content",
    "ask",
    R("POST", "/users", {"user": {"name": "us{n}", "domain_id": "default", "password": "short"}}),
    at=["/body/user/password"],
)
case(
    "user_password_again",
    "state",
    "ask",
    R("POST", "/users/{uid}/password", {"user": {"password": "Passw0rd{n}", "original_password": "Passw0rd{n}"}}),
    at=["/body/user/password"],
    setup=[USR],
)
case(
    "user_password_wrong",
    "credentials",
    "ask",
    R("POST", "/users/{uid}/password", {"user": {"password": "Newpass{n}", "original_password": "guess"}}),
    at=["/body/user/original_password"],
    setup=[USR],
    term=True,
    note="401 without a word about the old password",
)
case(
    "user_password_half",
    "missing",
    "ask",
    R("POST", "/users/{uid}/password", {"user": {"password": "Newpass{n}"}}),
    at=["/body/user/original_password"],
    setup=[USR],
)
case(
    "user_move_domain",
    "immutable",
    "never",
    R("PATCH", "/users/{uid}", {"user": {"domain_id": "{dom}"}}),
    setup=[USR, DOM],
)
case(
    "user_domain_unknown",
    "not found",
    "ask",
    R("POST", "/users", user(domain_id="nodomain")),
    at=["/body/user/domain_id"],
)
case(
    "user_delete_twice",
    "already",
    "already",
    R("DELETE", "/users/{uid}"),
    at=["/path"],
    setup=[USR, R("DELETE", "/users/{uid}")],
)
case(
    "users_operator",
    "query",
    "either",
    R("GET", "/users?password_expires_at=before:2026-01-01T00:00:00Z"),
    [R("GET", "/users?password_expires_at=lt:2026-01-01T00:00:00Z")],
    at=["/query/password_expires_at"],
)
case(
    "users_timestamp",
    "query",
    "ask",
    R("GET", "/users?password_expires_at=lt:next-week"),
    at=["/query/password_expires_at"],
)
case(
    "users_sort_dir",
    "query",
    "auto",
    R("GET", "/users?sort_key=name&sort_dir=descending"),
    [R("GET", "/users?sort_key=name&sort_dir=desc")],
)
case("user_mia_creates", "permission", "never", R("POST", "/users", user(), auth=MIA))
case("user_mia_deletes", "permission", "never", R("DELETE", "/users/{uid}", auth=MIA), setup=[USR])
case("no_token", "credentials", "never", R("GET", "/users", auth=""))
case("bad_token", "credentials", "never", R("GET", "/projects", auth="gAAAAABnotatoken"))

# ---------------------------------------------------------------- domains and projects
case(
    "domain_delete_enabled",
    "state",
    "never",
    R("DELETE", "/domains/{dom}"),
    setup=[DOM],
    note="it has to be disabled first; with it goes all that it holds",
)
case(
    "domain_again",
    "already",
    "already",
    R("POST", "/domains", {"domain": {"name": "dom{n}"}}),
    at=["/body/domain/name"],
    setup=[DOM],
)
case(
    "domain_tag_comma",
    "format",
    "ask",
    R("POST", "/domains", {"domain": {"name": "dom{n}", "tags": ["red,blue"]}}),
    at=["/body/domain/tags", "/body/domain/tags/0"],
    note="one tag or two",
)
case(
    "domain_config_group",
    "state",
    "ask",
    R("PUT", "/domains/{dom}/config", {"config": {"database": {"connection": "sqlite://"}}}),
    at=["/body/config", "/body/config/database"],
    setup=[DOM],
    term=True,
    note="the option cannot be set for a domain",
)
case("domain_config_none", "not found", "ask", R("GET", "/domains/{dom}/config"), at=["/path"], setup=[DOM], term=True)
case(
    "project_domain_case",
    "not found",
    "either",
    R("POST", "/projects", project(domain_id="Default")),
    [R("POST", "/projects", project())],
    at=["/body/project/domain_id"],
    note="the name of the domain, where its identifier is needed",
)
case(
    "project_enabled_word",
    "enum",
    "ask",
    R("POST", "/projects", project(enabled="paused")),
    at=["/body/project/enabled"],
)
case(
    "project_parent_unknown",
    "not found",
    "ask",
    R("POST", "/projects", project(parent_id="nowhere")),
    at=["/body/project/parent_id"],
)
case(
    "project_domain_parent",
    "contradiction",
    "ask",
    R("POST", "/projects", {"project": {"name": "pr{n}x", "domain_id": "{dom}", "parent_id": "{pid}"}}),
    at=["/body/project/parent_id", "/body/project/domain_id"],
    setup=[DOM, PROJ],
    note="the parent is of another domain",
)
case(
    "project_is_domain_parent",
    "contradiction",
    "ask",
    R("POST", "/projects", {"project": {"name": "pr{n}x", "is_domain": True, "parent_id": "{pid}"}}),
    at=["/body/project/parent_id", "/body/project/is_domain"],
    setup=[PROJ],
)
case(
    "project_too_deep",
    "quota",
    "ask",
    R("POST", "/projects", {"project": {"name": "deep{n}", "parent_id": "{low}"}}),
    at=["/body/project/parent_id"],
    setup=[
        PROJ,
        SUB,
        R("POST", "/projects", {"project": {"name": "low{n}", "parent_id": "{sub}"}}, save={"low": "project.id"}),
    ],
    term=True,
)
case(
    "project_parent_off",
    "state",
    "ask",
    R("POST", "/projects", {"project": {"name": "sub{n}", "parent_id": "{pid}"}}),
    at=["/body/project/parent_id"],
    setup=[PROJ, R("PATCH", "/projects/{pid}", {"project": {"enabled": False}})],
    term=True,
)
case("project_again", "already", "already", R("POST", "/projects", project()), at=["/body/project/name"], setup=[PROJ])
case(
    "project_again_other",
    "conflict",
    "flagged",
    R("POST", "/projects", project(description="second try")),
    [
        R("PATCH", "/projects/{pid}", {"project": {"description": "second try"}}),
        R("PATCH", "/projects/{pid}", {"project": {"name": "pr{n}", "description": "second try"}}),
    ],
    at=["/body/project/name", "/path"],
    setup=[PROJ],
)
case("project_not_leaf", "state", "never", R("DELETE", "/projects/{pid}"), setup=[PROJ, SUB])
case(
    "project_disable_parent",
    "state",
    "never",
    R("PATCH", "/projects/{pid}", {"project": {"enabled": False}}),
    setup=[PROJ, SUB],
    note="its projects have to be disabled first",
)
case(
    "project_move",
    "immutable",
    "never",
    R("PATCH", "/projects/{pid}", {"project": {"parent_id": "{aproj}"}}),
    setup=[PROJ, APROJ],
)
case(
    "project_tags_text",
    "wrong type",
    "auto",
    R("PUT", "/projects/{pid}/tags", {"tags": "blue"}),
    [R("PUT", "/projects/{pid}/tags", {"tags": ["blue"]})],
    setup=[PROJ],
)
case(
    "project_tags_misspelt",
    "misspelt",
    "auto",
    R("PUT", "/projects/{pid}/tags", {"tag": ["blue"]}),
    [R("PUT", "/projects/{pid}/tags", {"tags": ["blue"]})],
    setup=[PROJ],
)
case(
    "project_tag_unknown",
    "already",
    "already",
    R("DELETE", "/projects/{pid}/tags/green"),
    at=["/path"],
    setup=[PROJ],
    note="the project has no such tag",
)
case(
    "project_immutable",
    "state",
    "never",
    R("DELETE", "/projects/{pid}"),
    setup=[PROJ, R("PATCH", "/projects/{pid}", {"project": {"options": {"immutable": True}}})],
)

# ---------------------------------------------------------------- roles, groups
case("role_immutable_delete", "state", "never", R("DELETE", "/roles/{reader}"), setup=[READER])
case(
    "role_immutable_rename",
    "state",
    "never",
    R("PATCH", "/roles/{reader}", {"role": {"name": "viewer{n}"}}),
    setup=[READER],
)
case(
    "role_again",
    "already",
    "already",
    R("POST", "/roles", {"role": {"name": "ro{n}"}}),
    at=["/body/role/name"],
    setup=[ROLE],
)
case("role_implies_admin", "permission", "never", R("PUT", "/roles/{rid}/implies/{adminrole}"), setup=[ROLE, ADMINROLE])
case(
    "role_not_implied",
    "already",
    "already",
    R("DELETE", "/roles/{rid}/implies/{member}"),
    at=["/path"],
    setup=[ROLE, MEMBER],
)
case(
    "grant_post",
    "wrong method",
    "auto",
    R("POST", "/projects/{pid}/users/{uid}/roles/{member}"),
    [R("PUT", "/projects/{pid}/users/{uid}/roles/{member}")],
    setup=[PROJ, USR, MEMBER],
    note="405; PUT grants, DELETE takes away",
)
case(
    "grant_role_name",
    "not found",
    "either",
    R("PUT", "/projects/{pid}/users/{uid}/roles/member"),
    [R("PUT", "/projects/{pid}/users/{uid}/roles/{member}")],
    at=["/path"],
    setup=[PROJ, USR, MEMBER],
    note="the name, where the identifier is needed; a right hangs on it",
)
case(
    "grant_other_domain",
    "state",
    "ask",
    R("PUT", "/projects/{pid}/users/{uid}/roles/{drole}"),
    at=["/path"],
    setup=[
        PROJ,
        USR,
        DOM,
        R("POST", "/roles", {"role": {"name": "dr{n}", "domain_id": "{dom}"}}, save={"drole": "role.id"}),
    ],
    term=True,
    note="403: the role is of another domain",
)
case(
    "revoke_none",
    "already",
    "already",
    R("DELETE", "/projects/{pid}/users/{uid}/roles/{member}"),
    at=["/path"],
    setup=[PROJ, USR, MEMBER],
)
case(
    "assignments_both",
    "contradiction",
    "ask",
    R("GET", "/role_assignments?user.id={uid}&group.id={gid}"),
    at=["/query/user.id", "/query/group.id"],
    setup=[USR, GRP],
)
case(
    "group_member_unknown",
    "not found",
    "ask",
    R("PUT", "/groups/{gid}/users/nobody{n}"),
    at=["/path"],
    setup=[GRP],
    term=True,
)
case(
    "group_member_none", "already", "already", R("DELETE", "/groups/{gid}/users/{uid}"), at=["/path"], setup=[GRP, USR]
)
case(
    "group_misspelt",
    "misspelt",
    "auto",
    R("POST", "/groups", {"groups": {"name": "gr{n}", "domain_id": "default"}}),
    [R("POST", "/groups", {"group": {"name": "gr{n}", "domain_id": "default"}})],
)
case(
    "group_empty",
    "missing",
    "ask",
    R("PATCH", "/groups/{gid}", {"group": {}}),
    at=["/body/group", "/body/group/name", "/body/group/description"],
    setup=[GRP],
)

# ---------------------------------------------------------------- catalogue
case(
    "endpoint_interface_near",
    "enum",
    "auto",
    R(
        "POST",
        "/endpoints",
        {"endpoint": {"interface": "Public", "url": "http://nova{n}.example/", "service_id": "{sid}"}},
    ),
    [
        R(
            "POST",
            "/endpoints",
            {"endpoint": {"interface": "public", "url": "http://nova{n}.example/", "service_id": "{sid}"}},
        )
    ],
    setup=[SVC],
)
case(
    "endpoint_interface_old",
    "enum",
    "either",
    R(
        "POST",
        "/endpoints",
        {"endpoint": {"interface": "publicURL", "url": "http://nova{n}.example/", "service_id": "{sid}"}},
    ),
    [
        R(
            "POST",
            "/endpoints",
            {"endpoint": {"interface": "public", "url": "http://nova{n}.example/", "service_id": "{sid}"}},
        )
    ],
    at=["/body/endpoint/interface"],
    setup=[SVC],
    note="the value of the API of old",
)
case(
    "endpoint_enabled_text",
    "wrong type",
    "auto",
    R("PATCH", "/endpoints/{eid}", {"endpoint": {"enabled": "false"}}),
    [R("PATCH", "/endpoints/{eid}", {"endpoint": {"enabled": False}})],
    setup=[SVC, REG, EP],
)
case(
    "endpoint_no_url",
    "missing",
    "ask",
    R("POST", "/endpoints", {"endpoint": {"interface": "public", "service_id": "{sid}"}}),
    at=["/body/endpoint/url"],
    setup=[SVC],
)
case(
    "endpoint_url_template",
    "content",
    "ask",
    R(
        "POST",
        "/endpoints",
        {"endpoint": {"interface": "public", "url": "http://nova.example/%(tenant)s", "service_id": "{sid}"}},
    ),
    at=["/body/endpoint/url"],
    setup=[SVC],
)
case(
    "endpoint_service_unknown",
    "not found",
    "ask",
    R(
        "POST",
        "/endpoints",
        {"endpoint": {"interface": "public", "url": "http://nova{n}.example/", "service_id": "nova"}},
    ),
    at=["/body/endpoint/service_id"],
)
case(
    "endpoint_region_near",
    "not found",
    "either",
    R(
        "POST",
        "/endpoints",
        {
            "endpoint": {
                "interface": "public",
                "url": "http://nova{n}.example/",
                "service_id": "{sid}",
                "region_id": "RegionOn",
            }
        },
    ),
    [
        R(
            "POST",
            "/endpoints",
            {
                "endpoint": {
                    "interface": "public",
                    "url": "http://nova{n}.example/",
                    "service_id": "{sid}",
                    "region_id": "RegionOne",
                }
            },
        )
    ],
    at=["/body/endpoint/region_id"],
    setup=[SVC],
)
case("region_in_use", "state", "never", R("DELETE", "/regions/reg{n}"), setup=[SVC, REG, EP])
case(
    "region_circle",
    "state",
    "ask",
    R("PATCH", "/regions/reg{n}", {"region": {"parent_region_id": "kid{n}"}}),
    at=["/body/region/parent_region_id"],
    setup=[REG, R("POST", "/regions", {"region": {"id": "kid{n}", "parent_region_id": "reg{n}"}})],
    term=True,
)
case(
    "region_again",
    "already",
    "already",
    R("POST", "/regions", {"region": {"id": "reg{n}"}}),
    at=["/body/region/id"],
    setup=[REG],
)
case(
    "service_no_type",
    "misspelt",
    "either",
    R("POST", "/services", {"service": {"kind": "compute", "name": "nova{n}"}}),
    [R("POST", "/services", {"service": {"type": "compute", "name": "nova{n}"}})],
    at=["/body/service/type"],
    note="`type` is missing, `kind` is allowed and means the same",
)
case(
    "filter_interface_near",
    "enum",
    "auto",
    R(
        "POST",
        "/OS-EP-FILTER/endpoint_groups",
        {"endpoint_group": {"name": "eg{n}", "filters": {"interface": "publik"}}},
    ),
    [
        R(
            "POST",
            "/OS-EP-FILTER/endpoint_groups",
            {"endpoint_group": {"name": "eg{n}", "filters": {"interface": "public"}}},
        )
    ],
)

# ---------------------------------------------------------------- limits
case(
    "limit_text",
    "wrong type",
    "auto",
    R(
        "POST",
        "/limits",
        {"limits": [{"service_id": "{sid}", "project_id": "{pid}", "resource_name": "cores", "resource_limit": "5"}]},
    ),
    [
        R(
            "POST",
            "/limits",
            {"limits": [{"service_id": "{sid}", "project_id": "{pid}", "resource_name": "cores", "resource_limit": 5}]},
        )
    ],
    setup=[SVC, PROJ, RL],
)
case(
    "limit_no_list",
    "wrong type",
    "auto",
    R(
        "POST",
        "/limits",
        {"limits": {"service_id": "{sid}", "project_id": "{pid}", "resource_name": "cores", "resource_limit": 5}},
    ),
    [
        R(
            "POST",
            "/limits",
            {"limits": [{"service_id": "{sid}", "project_id": "{pid}", "resource_name": "cores", "resource_limit": 5}]},
        )
    ],
    setup=[SVC, PROJ, RL],
)
case(
    "limit_negative",
    "range",
    "ask",
    R("PATCH", "/limits/{lim}", {"limit": {"resource_limit": -5}}),
    at=["/body/limit/resource_limit"],
    setup=[SVC, PROJ, RL, LIM],
    note="the least, -1, means without limit",
)
case(
    "limit_unregistered",
    "precondition",
    "ask",
    R(
        "POST",
        "/limits",
        {"limits": [{"service_id": "{sid}", "project_id": "{pid}", "resource_name": "ram", "resource_limit": 5}]},
    ),
    at=["/body/limits/0/resource_name", "/body/limits/0", "/body/limits"],
    setup=[SVC, PROJ, RL],
    term=True,
)
case(
    "limit_rename",
    "immutable",
    "never",
    R("PATCH", "/limits/{lim}", {"limit": {"resource_name": "ram"}}),
    at=["/body/limit/resource_name"],
    setup=[SVC, PROJ, RL, LIM],
)
case(
    "limit_again",
    "already",
    "already",
    R(
        "POST",
        "/limits",
        {"limits": [{"service_id": "{sid}", "project_id": "{pid}", "resource_name": "cores", "resource_limit": 5}]},
    ),
    at=["/body/limits/0", "/body/limits"],
    setup=[SVC, PROJ, RL, LIM],
)
case("registered_in_use", "state", "never", R("DELETE", "/registered_limits/{rl}"), setup=[SVC, PROJ, RL, LIM])
case(
    "registered_no_uuid",
    "format",
    "ask",
    R(
        "POST",
        "/registered_limits",
        {"registered_limits": [{"service_id": "compute", "resource_name": "cores", "default_limit": 10}]},
    ),
    at=["/body/registered_limits/0/service_id"],
)

# ---------------------------------------------------------------- credentials, trusts, federation
case(
    "credential_quota",
    "quota",
    "never",
    R("POST", "/credentials", {"credential": {"type": "cert", "blob": "four{n}", "user_id": "{uid}"}}),
    setup=[USR]
    + [
        R("POST", "/credentials", {"credential": {"type": "cert", "blob": word + "{n}", "user_id": "{uid}"}})
        for word in ("one", "two", "three")
    ],
)
case(
    "credential_ec2_project",
    "missing",
    "ask",
    R(
        "POST",
        "/credentials",
        {"credential": {"type": "ec2", "blob": '{"access": "a{n}", "secret": "s"}', "user_id": "{uid}"}},
    ),
    at=["/body/credential/project_id"],
    setup=[USR],
)
case(
    "credential_ec2_blob",
    "content",
    "ask",
    R(
        "POST",
        "/credentials",
        {"credential": {"type": "ec2", "blob": "a{n}:s", "user_id": "{uid}", "project_id": "{pid}"}},
    ),
    at=["/body/credential/blob"],
    setup=[USR, PROJ],
)
case(
    "credential_blob_object",
    "wrong type",
    "either",
    R("POST", "/credentials", {"credential": {"type": "cert", "blob": {"key": "k{n}"}, "user_id": "{uid}"}}),
    [
        R("POST", "/credentials", {"credential": {"type": "cert", "blob": '{"key": "k{n}"}', "user_id": "{uid}"}}),
        R("POST", "/credentials", {"credential": {"type": "cert", "blob": '{"key":"k{n}"}', "user_id": "{uid}"}}),
    ],
    at=["/body/credential/blob"],
    setup=[USR],
)
case(
    "appcred_other",
    "permission",
    "never",
    R("POST", "/users/{uid}/application_credentials", {"application_credential": {"name": "ac{n}"}}),
    setup=[USR],
    note="only the user may",
)
case(
    "trust_other",
    "permission",
    "never",
    R(
        "POST",
        "/OS-TRUST/trusts",
        {"trust": {"trustor_user_id": "{uid}", "trustee_user_id": "{admin}", "impersonation": False}},
    ),
    setup=[USR, ADMIN],
    note="only the one who trusts may",
)
case(
    "trust_no_impersonation",
    "missing",
    "ask",
    R("POST", "/OS-TRUST/trusts", {"trust": {"trustor_user_id": "{admin}", "trustee_user_id": "{uid}"}}),
    at=["/body/trust/impersonation"],
    setup=[USR, ADMIN],
)
case(
    "idp_misspelt",
    "misspelt",
    "auto",
    R("PUT", "/OS-FEDERATION/identity_providers/idp{n}", {"identity_provider": {"enable": True}}),
    [R("PUT", "/OS-FEDERATION/identity_providers/idp{n}", {"identity_provider": {"enabled": True}})],
)
case(
    "idp_remote_text",
    "wrong type",
    "auto",
    R(
        "PUT",
        "/OS-FEDERATION/identity_providers/idp{n}",
        {"identity_provider": {"remote_ids": "https://idp{n}.example"}},
    ),
    [
        R(
            "PUT",
            "/OS-FEDERATION/identity_providers/idp{n}",
            {"identity_provider": {"remote_ids": ["https://idp{n}.example"]}},
        )
    ],
)
case(
    "idp_ttl_text",
    "wrong type",
    "auto",
    R("PUT", "/OS-FEDERATION/identity_providers/idp{n}", {"identity_provider": {"authorization_ttl": "30"}}),
    [R("PUT", "/OS-FEDERATION/identity_providers/idp{n}", {"identity_provider": {"authorization_ttl": 30}})],
)
case(
    "idp_again",
    "already",
    "already",
    R("PUT", "/OS-FEDERATION/identity_providers/idp{n}", {"identity_provider": {"enabled": True}}),
    at=["/path"],
    setup=[R("PUT", "/OS-FEDERATION/identity_providers/idp{n}", {"identity_provider": {"enabled": True}})],
)
case(
    "protocol_mapping_unknown",
    "not found",
    "ask",
    R("PUT", "/OS-FEDERATION/identity_providers/idp{n}/protocols/saml2", {"protocol": {"mapping_id": "nomap{n}"}}),
    at=["/body/protocol/mapping_id"],
    setup=[R("PUT", "/OS-FEDERATION/identity_providers/idp{n}", {"identity_provider": {"enabled": True}})],
)
case(
    "token_no_subject",
    "missing",
    "ask",
    R("GET", "/auth/tokens"),
    at=["/headers/X-Subject-Token", "/headers/x-subject-token"],
    term=True,
    note="the token to look at is a header that the description does not have",
)
case(
    "token_method_near",
    "enum",
    "either",
    R(
        "POST",
        "/auth/tokens",
        {
            "auth": {
                "identity": {
                    "methods": ["pasword"],
                    "password": {"user": {"name": "mia", "domain": {"id": "default"}, "password": "Mia12345"}},
                }
            }
        },
    ),
    [
        R(
            "POST",
            "/auth/tokens",
            {
                "auth": {
                    "identity": {
                        "methods": ["password"],
                        "password": {"user": {"name": "mia", "domain": {"id": "default"}, "password": "Mia12345"}},
                    }
                }
            },
        )
    ],
    at=["/body/auth/identity/methods", "/body/auth/identity/methods/0"],
    note="the server looks for a member of the misspelt name; the member beside it tells which method was meant",
)
