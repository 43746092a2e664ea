#include "operate/serve/endpoint_claim.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/log_thrown.h"
#include "base/core/process.h"
#include "base/core/process_id.h"
#include "base/store/http.h"
#include "operate/registry/errors.h"
#include "operate/serve/errors.h"
#include "operate/serve/listening_ports.h"

namespace hone {
namespace {

// The server at the endpoint's address.
ServerFacts ask_address(const Endpoint& e) {
  ServerFacts facts;
  if (e.address.empty()) return facts;
  HttpClient http({.connect_timeout_seconds = 2, .deadline_seconds = 5, .retries = 0});
  const auto answer = http.get(e.address + "/readyz");
  if (!answer.ok()) return facts;
  const auto alive = http.get(e.address + "/healthz");
  if (!alive.ok() || alive->status != 200) return facts;
  Json json;
  if (parse_json(alive->body, JsonRules{}, json) || text_at(json, "endpoint") != e.id) return facts;
  facts.alive = true;
  facts.ready = answer->status == 200;
  facts.pid = whole_at(json, "pid");
  return facts;
}

// "http://127.0.0.1:8080, process 4711 on worker-2"
std::string place_of(const Endpoint& e, const ServerFacts& facts) {
  return fmt::format("{}, process {}{}", e.address.empty() ? "it starts" : e.address, facts.pid,
                     e.server.host.empty() ? "" : " on " + e.server.host);
}

Error deployed_again(const Endpoint& e) {
  return Error(err::kEndpointServed,
               fmt::format("the endpoint '{}' was stopped, or deployed again, while this "
                           "server started",
                           e.display_name))
      .todo("deploy it again");
}

Error is_served(const Endpoint& e, const ServerFacts& facts) {
  return Error(err::kEndpointServed, fmt::format("the endpoint '{}' has a server", e.display_name))
      .at(place_of(e, facts))
      .todo(fmt::format("send requests there, end it with hone endpoints stop {}, or start this "
                        "one with --take_over, which ends it",
                        shell_word(e.display_name)));
}

// Takes the server that was seen out of the registry; the endpoint as it is then.
Result<Endpoint> forget_server(Registry& registry, const Endpoint& seen, bool keeps_awaited) {
  Endpoint e;
  HONE_TRY(registry.database().write([&]() -> Status {
    e = HONE_TRY(registry.endpoint(seen.id));
    if (!e.server.is(seen.server)) return Ok{};
    e.server = {.awaited = keeps_awaited ? e.server.awaited : ""};
    e.address.clear();
    e = HONE_TRY(registry.set_endpoint(e));
    return Ok{};
  }));
  return e;
}

// Returns when the server of the endpoint no longer answers.
Status end_one(Registry& registry, const Endpoint& e, double seconds, bool keeps_awaited) {
  const ServerFacts first = look_at_server(e);
  const double end = system_clock().seconds() + seconds;
  if (first.here && ::kill(static_cast<pid_t>(first.pid), SIGTERM) != 0 && errno != ESRCH)
    return std::move(is_served(e, first).todo("end it as the user that started it"));
  // A server elsewhere looks into the registry.
  if (first.alive && !first.here) HONE_TRY(forget_server(registry, e, keeps_awaited));
  while (look_at_server(e).alive) {
    if (system_clock().seconds() <= end) {
      system_clock().sleep(0.05);
    } else if (first.here) {
      log_warning("the server of {} has not ended after {:.4g} s: it is killed", e.display_name,
                  seconds);
      (void)::kill(static_cast<pid_t>(first.pid), SIGKILL);
      while (start_of_process(e.server.pid) == e.server.start) system_clock().sleep(0.02);
    } else {
      return std::move(
          is_served(e, first).todo("end it where it runs, or wait longer with --wait"));
    }
  }
  return Ok{};
}

}  // namespace

ServerFacts look_at_server(const Endpoint& e) {
  const EndpointServer& s = e.server;
  if (s.pid == 0 || s.space != process_space()) return ask_address(e);
  ServerFacts facts;
  facts.alive = start_of_process(s.pid) == s.start;
  if (!facts.alive) return facts;
  facts.here = true;
  facts.pid = s.pid;
  const ServerFacts asked = ask_address(e);
  facts.ready = asked.ready && asked.pid == s.pid;
  return facts;
}

std::string still_answers(const Endpoint& e, const ServerFacts& facts) {
  return fmt::format("'{}' is unchanged: {}, still answers", e.display_name, place_of(e, facts));
}

Result<Endpoint> end_server(Registry& registry, Endpoint e, double seconds, bool keeps_awaited) {
  do {
    HONE_TRY(end_one(registry, e, seconds, keeps_awaited));
    e = HONE_TRY(forget_server(registry, e, keeps_awaited));
  } while (e.server.pid != 0);
  return e;
}

Result<std::unique_ptr<EndpointClaim>> EndpointClaim::prepare(ClaimOptions options) {
  std::unique_ptr<EndpointClaim> claim(new EndpointClaim(std::move(options)));
  ClaimOptions& o = claim->options_;
  claim->registry_ = HONE_TRY(Registry::open(o.registry));
  claim->seen_ = HONE_TRY(claim->registry_->endpoint(o.endpoint));
  claim->other_ = look_at_server(claim->seen_);
  if (claim->replaces() && !o.take_over) return is_served(claim->seen_, claim->other_);
  return claim;
}

bool EndpointClaim::other_has(int port) const {
  if (other_.here) return listens_alone(other_.pid, port);
  // Its process cannot be seen, but it may be in another container of this machine.
  const std::string& url = seen_.address;
  return seen_.server.host == host_name() &&
         (url.ends_with(fmt::format(":{}", port)) || whole_at(seen_.serving, "grpc_port") == port);
}

Error EndpointClaim::unchanged(Error error) const {
  return std::move(error.at(still_answers(seen_, other_)));
}

Status EndpointClaim::end_other() {
  const Endpoint now = HONE_TRY(registry_->endpoint(seen_.id));
  const bool same =
      std::ranges::equal(now.deployed, seen_.deployed, {}, &DeployedModel::id, &DeployedModel::id);
  if (!same || (!options_.awaited.empty() && now.server.awaited != options_.awaited))
    return deployed_again(now);
  log_info("{:<11} the place of process {}{}", "taking", other_.pid,
           seen_.server.host.empty() ? "" : " on " + seen_.server.host);
  seen_ = HONE_TRY(end_server(*registry_, now, options_.take_over_seconds, true));
  other_ = {};
  return Ok{};
}

Status EndpointClaim::take(const std::string& url, int port,
                           std::function<void(const std::string& why)> on_lost) {
  own_ = {process_space(), host_name(), ::getpid(), start_of_process(::getpid()), ""};
  options_.serving["port"] = port;
  for (;;) {
    bool changed = false;
    HONE_TRY(registry_->database().write([&]() -> Status {
      Endpoint e = HONE_TRY(registry_->endpoint(seen_.id));
      if (!options_.awaited.empty() && e.server.awaited != options_.awaited)
        return deployed_again(e);
      changed = !e.server.is(seen_.server);
      if (changed) {
        seen_ = std::move(e);
        return Ok{};
      }
      e.server = own_;
      e.address = url;
      e.serving = options_.serving;
      seen_ = HONE_TRY(registry_->set_endpoint(e));
      return Ok{};
    }));
    if (!changed) break;
    if (const ServerFacts facts = look_at_server(seen_); facts.alive)
      return is_served(seen_, facts);
  }
  taken_ = true;
  on_lost_ = std::move(on_lost);
  watcher_ = std::thread([this] { watch(); });
  return Ok{};
}

std::string EndpointClaim::why_lost() {
  const auto now = registry_->endpoint(seen_.id);
  if (!now.ok())  // a registry that cannot be read now says nothing
    return now.error().is(err::kNotRegistered) ? "the endpoint was removed from the registry" : "";
  if (now->server.is(own_)) return "";
  return now->server.pid == 0 ? "the endpoint was stopped"
                              : "another server has taken the endpoint";
}

void EndpointClaim::watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(options_.watch_seconds),
                         [&] { return ends_; })) {
    lock.unlock();
    std::string lost;
    log_if_thrown("a look at the registry", [&] { lost = why_lost(); });
    lock.lock();
    if (lost.empty()) continue;
    if (ends_) return;
    return on_lost_(lost);
  }
}

void EndpointClaim::release() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  if (!std::exchange(taken_, false)) return;
  Endpoint own = seen_;
  own.server = own_;
  if (const auto left = forget_server(*registry_, own, true); !left.ok())
    if (!left.error().is(err::kNotRegistered))
      log_warning("the registry still names this server: {}", left.error().what());
}

EndpointClaim::~EndpointClaim() { release(); }

}  // namespace hone
