"""The built-in packs, loaded once in each process: to load one takes up to half a second."""

from __future__ import annotations

import functools

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.rules.pack.load import Pack


@functools.cache
def profile_of(name: str) -> ApiProfile:
    (profile,) = load_profiles([name])
    return profile


def pack_of(name: str) -> Pack:
    return profile_of(name).pack
