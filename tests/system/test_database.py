import pytest

from mhpc.system.database import database


@pytest.mark.parametrize(
    "setting",
    ["autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"],
)
def test_no_extension_is_fetched_or_loaded(setting: str) -> None:
    with database() as connection:
        found = connection.execute("SELECT current_setting(?)", [setting]).fetchone()
    assert found == (False,)


def test_cores_may_be_few() -> None:
    with database(threads=1) as connection:
        assert connection.execute("SELECT current_setting('threads')").fetchone() == (1,)
