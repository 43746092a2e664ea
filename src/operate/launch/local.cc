// Ranks as processes of this host; on several hosts, one such launcher on each.
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/ranks/control_client.h"
#include "operate/launch/local_ranks.h"
#include "operate/launch/serve_ranks.h"

namespace hone {
namespace {

bool has_other_hosts(const LaunchRequest& request) { return request.local_ranks < request.ranks; }

Result<LaunchEnd> run_local(const LaunchRequest& request) {
  std::unique_ptr<ControlServer> server;
  if (request.serves) server = HONE_TRY(serve_ranks(request, has_other_hosts(request)));
  std::vector<RankChild> children =
      HONE_TRY(local_ranks(request, server ? server->port() : request.port));
  for (const RankChild& child : children) log_info("{}", rank_line(child));
  install_stop_handlers();
  const World place{.address = request.address, .port = request.port};
  const auto report = [&](const RankFailure& failure) {
    if (const Status heard = report_failure(place, request.token, failure); !heard.ok())
      log_warning("{}", heard.error().text());
  };
  return run_group(std::move(children), server.get(),
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
