// Ranks as processes of this host; on several hosts, one such launcher on each.
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/ranks/control_client.h"
#include "operate/launch/local_ranks.h"
#include "operate/launch/machines.h"
#include "operate/launch/restarts.h"
#include "operate/launch/serve_ranks.h"

namespace hone {
namespace {

bool has_other_hosts(const LaunchRequest& request) { return request.local_ranks < request.ranks; }

Result<LaunchEnd> run_local(const LaunchRequest& request) {
  if (meets_machines(request)) return run_machines(request);
  install_stop_handlers();
  const auto start = [](const LaunchRequest& r, int port) -> Result<std::vector<RankChild>> {
    std::vector<RankChild> children = HONE_TRY(local_ranks(r, port));
    for (const RankChild& child : children) log_info("{}", rank_line(child));
    return children;
  };
  if (request.serves) {
    const auto server = HONE_TRY(serve_ranks(request, has_other_hosts(request)));
    return run_restarts(
        request, *server,
        {.children = [&](const LaunchRequest& r) { return start(r, server->port()); },
         .group = {.ends_with_input = request.ends_with_input}});
  }
  const World place{.epoch = request.epoch, .address = request.address, .port = request.port};
  const auto report = [&](const RankFailure& failure) {
    if (const Status heard = report_failure(place, request.token, failure); !heard.ok())
      log_warning("{}", heard.error().text());
  };
  return run_group(HONE_TRY(start(request, request.port)), nullptr,
                   {.report = report, .ends_with_input = request.ends_with_input});
}

Result<std::string> show_local(const LaunchRequest& request) {
  std::string lines;
  for (const RankChild& child : HONE_TRY(local_ranks(request, request.port)))
    lines += command_text(child) + "\n";
  return lines;
}

}  // namespace

RankLauncher rank_launcher_local() {
  return {.name = "local",
          .about = "processes of this host; on several hosts, start it on each of them",
          .run = run_local,
          .dry_run = show_local};
}

}  // namespace hone
