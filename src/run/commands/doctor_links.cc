#include "run/commands/doctor_links.h"

#include <algorithm>
#include <filesystem>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/ranks/control.h"
#include "engine/comm/engines/engines.h"
#include "engine/comm/engines/errors.h"
#include "engine/comm/measure.h"
#include "operate/launch/launch.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/launch_ranks.h"
#include "run/commands/link_report.h"
#include "run/commands/screen.h"

namespace hone {
namespace {

Result<EngineSpeed> engine_speed(const std::string& name, ControlClient& client) {
  EngineSpeed e{.name = name, .problem = {}, .rank0 = {}, .bytes_per_s = {}};
  auto group = make_group(name, client.world(), client);
  if (!group.ok()) {
    e.problem = group.error().what();
    return e;
  }
  e.rank0 = HONE_TRY(measure_group(**group));
  Json mine = Json::array();
  for (const PeerSpeed& p : e.rank0.peers) mine.push_back(p.bytes_per_s);
  for (const std::string& text : HONE_TRY(client.gather("engine speeds", dump_json(mine))))
    e.bytes_per_s.push_back(HONE_TRY(parse_json(text, "engine speeds")));
  return e;
}

Result<int> measured_status(const World& world, ControlClient& client, const LinkCheck& how) {
  std::vector<LinkSpeed> links = HONE_TRY(measure_links(world, client));
  const LinkReport report(std::move(links), HONE_TRY(engine_speed(how.engine, client)));
  if (world.leads())
    print_out(how.json ? dump_json(report.json()) + "\n" : report.text(screen_width()));
  if (const std::string fault = report.fault(); world.leads() && !fault.empty())
    return Error(err::kRanksApart, fault)
        .todo("open the ports between these hosts, and compare the MTU of their interfaces");
  return kExitDone;
}

// The hosts of a file, or those between commas, with one rank each.
Result<std::vector<HostSlots>> named_hosts(const std::string& text) {
  std::error_code unknown;
  std::vector<HostSlots> hosts;
  if (std::filesystem::exists(text, unknown) || text.find('/') != std::string::npos) {
    hosts = HONE_TRY(parse_hostfile(HONE_TRY(read_file(text)), text));
  } else {
    std::string lines = text;
    std::replace(lines.begin(), lines.end(), ',', '\n');
    hosts = HONE_TRY(parse_hostfile(lines, "--hosts"));
  }
  for (HostSlots& h : hosts) h = {.host = h.host, .slots = {0}};
  return hosts;
}

}  // namespace

Result<int> check_links(const LinkCheck& how) {
  const World world = HONE_TRY(read_world());
  if (world.is_alone())
    return Error(err::kMissingArgument, "there is one rank, and links are between several")
        .at("--links")
        .todo("give --hosts, or start ranks: hone launch --num_processes 2 -- doctor --links");
  if (!world.leads()) set_log_level(LogLevel::kError);
  const auto control = HONE_TRY(Control::open(world, {{"engine", how.engine}}));
  Result<int> status = measured_status(control->world(), control->client(), how);
  HONE_TRY(control->end(status.ok() ? Status(Ok{}) : Status(status.error())));
  return status;
}

Result<int> check_hosts(const std::string& hosts, const LinkCheck& how) {
  std::vector<HostSlots> named = HONE_TRY(named_hosts(hosts));
  LaunchRequest r{.command = {"hone", "doctor", "--links", "--ddp_backend", how.engine},
                  .program = "/proc/self/exe",
                  .hosts = std::move(named),
                  .address = how.address,
                  .token = new_ranks_token(),
                  .words = how.ssh_words};
  if (how.json) r.command.emplace_back("--json");
  r.ranks = r.local_ranks = static_cast<int>(r.hosts.size());
  return run_ranks(HONE_TRY(rank_launcher_named("ssh")), r, false);
}

}  // namespace hone
