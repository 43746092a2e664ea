#include "base/ranks/control.h"

#include "base/core/log.h"
#include "base/core/loopback.h"
#include "base/core/text.h"
#include "base/ranks/connection.h"
#include "base/ranks/errors.h"

namespace hone {
namespace {

constexpr double kEndSeconds = 10;  // for other ranks to hear how the run ended
constexpr double kHearSeconds = 3;  // for the error of the rank that was lost to come

// The error of a start to which not all ranks came, with their names.
Error incomplete_start(ControlClient& client, double patience_s) {
  const Result<std::vector<MissingRank>> missing = client.who_is_missing(0);
  if (!missing.ok()) return missing.error();
  return Error(err::kRanksMissing, fmt::format("{} of {} ranks have not joined within {}: {}",
                                               missing->size(), client.world().ranks,
                                               format_duration(patience_s), missing_text(*missing)))
      .todo(
          "read the last lines of these ranks: they ended, were never started, or cannot reach "
          "rank 0");
}

}  // namespace

Result<std::unique_ptr<Control>> Control::open(const World& world, Json facts, double patience_s) {
  HONE_BUG_IF(world.address.empty(), "a run of one rank has no control plane");
  std::unique_ptr<Control> control(new Control());
  const std::string token = environment(kTokenOfRanks);
  if (world.leads() && !world.served) {
    ServeOptions options{.state = {.ranks = world.ranks, .epoch = world.epoch, .token = token},
                         .loopback = is_loopback(world.address),
                         .port = world.port,
                         .say = [](const std::string& line) { log_info("{}", line); }};
    control->server_ = HONE_TRY(ControlServer::open(std::move(options)));
  }
  JoinOptions join{.token = token, .facts = std::move(facts), .patience_s = patience_s};
  control->client_ = HONE_TRY(ControlClient::join(world, std::move(join)));
  Status met = control->client_->barrier("the start", patience_s);
  if (!met.ok() && met.error().is(err::kRanksMissing)) {
    // The error goes to the ranks that came.
    Error error = incomplete_start(*control->client_, patience_s);
    return std::move(control->end(std::move(error)).error());
  }
  HONE_TRY(met);
  return control;
}

Control::~Control() {
  if (!server_) return;
  client_.reset();
  server_->wait_for_ranks(kEndSeconds);
}

Status Control::end(Status status, Cause cause) {
  if (status.ok()) {
    client_->leave();
    return status;
  }
  client_->fail(status.error(), cause != Cause::own);
  const bool follows = cause == Cause::follows;
  std::optional<RankFailure> first = client_->first_failure();
  for (const double end = system_clock().seconds() + kHearSeconds;
       follows && !first && system_clock().seconds() < end; first = client_->first_failure())
    system_clock().sleep(0.01);
  if (follows && first && first->rank != world().rank) return first->to_others();
  return status;
}

}  // namespace hone
