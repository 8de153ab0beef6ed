"""A real Nagios in a folder of its own, with the objects of its package and the files of deploy/nagios."""

import getpass
import grp
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.brokers import clean_environment, wait_until
from tests.support.tools import path_of

DEPLOYED = Path(__file__).parents[2] / "deploy" / "nagios"
STOCK = Path("/etc/nagios4/objects")
EXAMPLE = DEPLOYED / "broker-host.cfg"
STOP_SECONDS = 30
_STATUS = re.compile(r"^servicestatus \{\n(.*?)^\t\}", re.MULTILINE | re.DOTALL)


class Nagios:
    """Everything it reads and writes is below the folder, but for the stock objects and what is deployed."""

    def __init__(self, folder: Path, host: str, macros: Mapping[str, str]) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("var", "var/checkresults", "tmp"):
            (folder / name).mkdir()
        (folder / "host.cfg").write_text(host)
        (folder / "resource.cfg").write_text("".join(f"${name}$={value}\n" for name, value in macros.items()))
        self._main = folder / "nagios.cfg"
        self._main.write_text("".join(f"{line}\n" for line in _settings(folder)))

    def verify(self) -> tuple[int, str]:
        """What `nagios4 -v` makes of the configuration."""
        done = subprocess.run(
            [path_of("nagios"), "-v", self._main], capture_output=True, text=True, check=False, timeout=60
        )
        return done.returncode, done.stdout

    def start(self) -> None:
        """Watch, in the foreground."""
        with (self._folder / "nagios.out").open("wb") as log:
            self._process = subprocess.Popen(
                [path_of("nagios"), self._main], stdout=log, stderr=log, start_new_session=True, env=clean_environment()
            )

    def stop(self) -> None:
        """Ask it to end; what it left running ends with its group."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait(STOP_SECONDS)

    def services(self) -> dict[str, dict[str, str]]:
        """What its status file says of each service that was checked at least once."""
        file = self._folder / "var" / "status.dat"
        text = file.read_text() if file.exists() else ""
        blocks = (_fields(block) for block in _STATUS.findall(text))
        return {one["service_description"]: one for one in blocks if one["has_been_checked"] == "1"}

    def wait_for(self, seconds: float, **states: str) -> dict[str, dict[str, str]]:
        """Until services (DLQ_count is `DLQ count`) are in these states."""
        wanted = {name.replace("_", " "): state for name, state in states.items()}

        def reached() -> bool:
            found = self.services()
            return all(name in found and found[name]["current_state"] == state for name, state in wanted.items())

        wait_until(reached, seconds, lambda: f"{wanted} wanted: {self._told()}")
        return self.services()

    def _told(self) -> str:
        shown = {name: (one["current_state"], one["plugin_output"]) for name, one in self.services().items()}
        log = self._folder / "var" / "nagios.log"
        return f"{shown}\n{log.read_text()[-3000:] if log.exists() else ''}{(self._folder / 'nagios.out').read_text()}"


def _settings(folder: Path) -> list[str]:
    var, temporary = folder / "var", folder / "tmp"
    user, group = getpass.getuser(), grp.getgrgid(os.getgid()).gr_name
    return [
        f"log_file={var}/nagios.log",
        *(f"cfg_file={STOCK}/{name}.cfg" for name in ("commands", "contacts", "timeperiods", "templates")),
        *(f"cfg_file={file}" for file in sorted(DEPLOYED.glob("*.cfg")) if file != EXAMPLE),
        f"cfg_file={folder}/host.cfg",
        f"resource_file={folder}/resource.cfg",
        f"object_cache_file={var}/objects.cache",
        f"precached_object_file={var}/objects.precache",
        f"status_file={var}/status.dat",
        f"state_retention_file={var}/retention.dat",
        f"lock_file={var}/nagios.lock",
        f"command_file={var}/nagios.cmd",
        f"query_socket={var}/nagios.qh",
        f"check_result_path={var}/checkresults",
        f"temp_file={temporary}/nagios.tmp",
        f"temp_path={temporary}",
        f"nagios_user={user}",
        f"nagios_group={group}",
        "interval_length=1",
        "status_update_interval=1",
        "check_result_reaper_frequency=1",
        "service_inter_check_delay_method=n",
        "service_check_timeout=60",
        "check_external_commands=0",
        "enable_notifications=0",
        "enable_flap_detection=0",
        "check_for_updates=0",
        "use_syslog=0",
        "illegal_object_name_chars=`~!$%^&*|'\"<>?,()=",
        "illegal_macro_output_chars=`~$&|'\"<>",
        "cached_service_check_horizon=0",
    ]


def _fields(block: str) -> dict[str, str]:
    return dict(line.strip().split("=", 1) for line in block.splitlines() if "=" in line)
