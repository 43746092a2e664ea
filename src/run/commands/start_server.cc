#include "run/commands/start_server.h"

#include <algorithm>

#include "base/core/child.h"
#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/pipeline/runner.h"
#include "run/commands/endpoint_server.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

// The log file of a server that is started.
std::string server_log(const Endpoint& endpoint) {
  return user_state_folder() + "/endpoints/" + endpoint.id + ".log";
}

Result<Child> spawn_server(Registry& registry, const Endpoint& e, bool take_over) {
  std::vector<std::string> argv{own_program(), "serve", "--endpoint", e.id};
  if (take_over) argv.push_back("--take_over");
  // The address of the registry may have a password, which a list of processes must not show.
  ::setenv("HONE_REGISTRY", registry.whole_address().c_str(), 1);
  const std::string log = server_log(e);
  if (const size_t slash = log.rfind('/'); slash != log.npos)
    HONE_TRY(file_store().make_dirs(log.substr(0, slash)));
  const ChildStream to_log = {ChildStream::kAppend, log, 0600};
  Child server = HONE_TRY(spawn({.command = argv,
                                 .environment = {{kAwaitedVariable, e.server.awaited}},
                                 .in = {ChildStream::kNull},
                                 .out = to_log,
                                 .err = to_log,
                                 .group = ChildSpec::kOwnSession,
                                 .closes_files = true}));
  log_info("{:<11} a server, its log is {}", "started", log);
  return server;
}

// With the places and the advice of the server's own error.
Error server_ended(const Child& server, const Endpoint& e) {
  const ServerFacts other = look_at_server(e);
  const std::optional<Error> cause = server.error();
  const auto log = read_file(server_log(e));
  const std::vector<std::string> said = lines_of_failure(cause, log.ok() ? *log : "");
  Error ended(err::kDeployNotReady,
              fmt::format("the server of the endpoint ended: {}", said.empty() ? "" : said[0]));
  if (cause)
    for (const std::string& where : cause->where()) ended.at(where);
  // A server that got as far as its models has said so.
  const std::string still = still_answers(e, other);
  if (other.alive && (!cause || std::ranges::find(cause->where(), still) == cause->where().end()))
    ended.at(still);
  const bool advised = cause && !cause->remedy().empty();
  ended.at(server_log(e))
      .todo(fmt::format("{}; then deploy again{}", advised ? cause->remedy() : "see its log",
                        other.alive ? ""
                                    : ", or remove the endpoint: hone endpoints delete " +
                                          shell_word(e.display_name)));
  return ended;
}

// Nothing is changed if another deployment or server has come in between.
Status put_back(Registry& registry, const Endpoint& before, const Endpoint& failed) {
  if (before.id.empty()) return Ok{};
  return registry.database().write([&]() -> Status {
    const Endpoint now = HONE_TRY(registry.endpoint(before.id));
    const bool same = std::ranges::equal(now.deployed, failed.deployed, {}, &DeployedModel::id,
                                         &DeployedModel::id);
    const bool goes_on = now.server.is(before.server);  // the old server, which was not replaced
    if (same && (goes_on || !look_at_server(now).alive)) HONE_TRY(registry.set_endpoint(before));
    return Ok{};
  });
}

}  // namespace

Result<Endpoint> start_server(Registry& registry, const Endpoint& before, const Endpoint& endpoint,
                              const ServerStart& how) {
  const Child server = HONE_TRY(spawn_server(registry, endpoint, how.take_over));
  const double end = system_clock().seconds() + how.wait;
  while (system_clock().seconds() < end) {
    const Endpoint e = HONE_TRY(registry.endpoint(endpoint.id));
    const ServerFacts facts = look_at_server(e);
    if (facts.ready && (!how.take_over || facts.pid == server.pid)) return e;
    if (child_ended(server.pid)) {
      HONE_TRY(put_back(registry, before, endpoint));
      return server_ended(server, endpoint);
    }
    if (stop_requested()) break;
    system_clock().sleep(0.1);
  }
  return Error(err::kDeployNotReady,
               fmt::format("the server of the endpoint is not ready after {} s", how.wait))
      .at(server_log(endpoint))
      .todo("see its log; if the model is only slow to load, give more time with --wait");
}

}  // namespace hone
