#include "base/ranks/control_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/core/error_report.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/ranks/connection.h"
#include "base/ranks/errors.h"
#include "base/ranks/tcp_traffic.h"

namespace hone {
namespace {

constexpr int64_t kMostUnheard = 10;  // heartbeats without an answer, after which none is sent
constexpr double kLeastHeartbeatSeconds = 0.1;  // between two steps
constexpr double kLeaveSeconds = 5;             // for the last messages
constexpr double kMeasureSeconds = 2;           // of a wait, after which its traffic is measured
constexpr size_t kMostFactsBytes = 112 << 10;
constexpr const char* kJsonPrefix = "json/";

}  // namespace

struct ControlClient::Joined {
  Joined(const World& w, JoinOptions o, FileDescriptor socket)
      : world(w),
        options(std::move(o)),
        connection(std::move(socket), kServerLimits),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void run();
  void take(Frame frame);
  void end(Error why) {
    if (!ended) ended = std::move(why);
    changed.notify_all();
  }
  void send(Frame frame) {
    connection.queue(frame);
    (void)::eventfd_write(wake.get(), 1);
  }
  void send_heartbeat();
  double next_heartbeat() const { return last_heartbeat + options.heartbeat_s; }
  // Progress up to the present.
  RankProgress progress_now() const {
    RankProgress p = progress;
    p.since_s = options.clock->seconds() - since;
    if (measures_traffic && p.waiting && p.since_s >= kMeasureSeconds)
      p.moved_bytes = tcp_bytes_moved(connection.fd());
    return p;
  }
  // The reason why no wait can succeed; none: it can.
  std::optional<Error> fault() const {
    if (failure) return failure->to_others();
    return ended;
  }
  // Waits for the answer to a request. `missing` makes the error of a wait that takes too long.
  template <class Missing>
  Result<Frame> answer(std::unique_lock<std::mutex>& lock, int64_t id, double patience_s,
                       Missing missing);

  // Sends a request that is answered at once, after the present progress.
  Result<Frame> ask(std::unique_lock<std::mutex>& lock, Json head);

  const World world;
  const JoinOptions options;
  std::mutex mutex;  // of all below
  std::condition_variable changed;
  FrameConnection connection;
  FileDescriptor wake;
  std::map<int64_t, std::optional<Frame>> answers;  // by id of a request that somebody waits for
  int64_t next_id = 1;
  bool welcome = false, leaving = false, stop = false, measures_traffic = false;
  double stop_by = 0;
  std::optional<Error> ended;  // why the control plane is of no use
  std::optional<RankFailure> failure;
  RankProgress progress;
  double since = 0;  // time at which its present work began
  double last_heartbeat = -kNoEnd;
  int64_t unheard = 0;
  std::thread thread;
};

void ControlClient::Joined::send_heartbeat() {
  last_heartbeat = options.clock->seconds();
  if (unheard >= kMostUnheard) return;
  ++unheard;
  Json head = progress_json(progress_now());
  head["do"] = "beat";
  connection.queue({std::move(head), ""});
}

void ControlClient::Joined::take(Frame frame) {
  const std::string what = text_at(frame.head, "do");
  if (what == "welcome") welcome = true;
  if (what == "heard") unheard = 0;
  if (what == "stop") request_stop(whole_at(frame.head, "signal") == SIGINT ? SIGINT : SIGTERM);
  if (what == "failed" && !failure) failure = failure_of(frame.head, frame.body);
  if (what == "refused") {
    std::optional<Error> error = reported_error(frame.body);
    end(error ? std::move(*error)
              : Error(err::kControlMessage, "the control plane refused this rank"));
  }
  if (what == "epoch")
    end(Error(err::kStaleEpoch,
              fmt::format("membership {} of the run began without this rank, which belongs to {}",
                          whole_at(frame.head, "epoch"), world.epoch))
            .todo("start the rank again"));
  if (const auto it = answers.find(whole_at(frame.head, "id")); it != answers.end())
    it->second = std::move(frame);
  changed.notify_all();
}

void ControlClient::Joined::run() {
  for (;;) {
    pollfd polled[2] = {{wake.get(), POLLIN, 0}, {connection.fd(), POLLIN, 0}};
    double wait = 0;
    bool open = true;
    {
      std::unique_lock lock(mutex);
      if (welcome && !leaving && options.clock->seconds() >= next_heartbeat()) send_heartbeat();
      open = connection.write();
      if (stop && (ended || connection.unsent_bytes() == 0 || options.clock->seconds() >= stop_by))
        return;
      if (ended) {
        lock.unlock();
        (void)::poll(polled, 1, -1);
        eventfd_t taken = 0;
        (void)::eventfd_read(wake.get(), &taken);
        continue;
      }
      if (connection.unsent_bytes() > 0) polled[1].events |= POLLOUT;
      wait = !open ? 0
             : welcome && !leaving
                 ? std::clamp(next_heartbeat() - options.clock->seconds(), 0.0, options.heartbeat_s)
                 : options.heartbeat_s;
    }
    (void)::poll(polled, 2, static_cast<int>(wait * 1000) + 1);
    const std::lock_guard lock(mutex);
    eventfd_t taken = 0;
    (void)::eventfd_read(wake.get(), &taken);
    if ((polled[1].revents & ~POLLOUT) != 0 && !connection.read()) open = false;
    for (;;) {
      Result<std::optional<Frame>> frame = connection.next();
      if (!frame.ok()) end(std::move(frame.error()));
      if (ended || !*frame) break;
      take(std::move(**frame));
    }
    if (!open)
      end(Error(err::kControlLost, fmt::format("the control plane at {}:{} ended the connection",
                                               world.address, world.port))
              .todo("read the last lines of rank 0 or its launcher"));
  }
}

template <class Missing>
Result<Frame> ControlClient::Joined::answer(std::unique_lock<std::mutex>& lock, int64_t id,
                                            double patience_s, Missing missing) {
  const double end_s = options.clock->seconds() + patience_s;
  for (;;) {
    if (std::optional<Frame>& got = answers[id]) {
      Frame frame = std::move(*got);
      answers.erase(id);
      return frame;
    }
    const double left = end_s - options.clock->seconds();
    std::optional<Error> why = fault();
    if (!why && left <= 0) {
      send({{{"do", "forget"}, {"id", id}}, ""});
      why = missing();
    }
    if (why) {
      answers.erase(id);
      return std::move(*why);
    }
    changed.wait_for(lock, std::chrono::duration<double>(std::min(left, 0.1)));
  }
}

Result<std::unique_ptr<ControlClient>> ControlClient::join(const World& world,
                                                           JoinOptions options) {
  const double begin = options.clock->seconds();
  HONE_BUG_IF(dump_json(options.facts).size() > kMostFactsBytes,
              "facts that are too long: use hashes");
  FileDescriptor socket =
      HONE_TRY(connect_to(world.address, world.port,
                          {.patience_s = options.patience_s,
                           .clock = options.clock,
                           .say = [](const std::string& line) { log_info("{}", line); }}));
  auto joined = std::make_unique<Joined>(world, std::move(options), std::move(socket));
  Joined& j = *joined;
  j.since = j.options.clock->seconds();
  j.connection.queue({{{"do", "join"},
                       {"token", j.options.token},
                       {"epoch", world.epoch},
                       {"rank", world.rank},
                       {"ranks", world.ranks},
                       {"host", world.host},
                       {"facts", j.options.facts}},
                      ""});
  j.thread = std::thread([&j] { j.run(); });
  std::unique_ptr<ControlClient> client(new ControlClient(std::move(joined)));
  std::unique_lock lock(j.mutex);
  while (!j.welcome) {
    if (std::optional<Error> why = j.fault()) return std::move(*why);
    const double waited = j.options.clock->seconds() - begin;
    if (waited >= j.options.patience_s)
      return Error(err::kRanksMissing,
                   fmt::format("rank 0 has not joined within {}", format_duration(waited)))
          .todo("check that it was started, and its last lines");
    j.changed.wait_for(lock, std::chrono::duration<double>(0.1));
  }
  return client;
}

ControlClient::ControlClient(std::unique_ptr<Joined> joined) : joined_(std::move(joined)) {}

ControlClient::~ControlClient() {
  {
    const std::lock_guard lock(joined_->mutex);
    joined_->stop = true;
    joined_->stop_by = joined_->options.clock->seconds() + kLeaveSeconds;
    (void)::eventfd_write(joined_->wake.get(), 1);
  }
  joined_->thread.join();
}

const World& ControlClient::world() const { return joined_->world; }

Status ControlClient::set(const std::string& key, std::string_view value) {
  HONE_BUG_IF(value.size() > kMostValueBytes, "a value of {} bytes", value.size());
  const std::lock_guard lock(joined_->mutex);
  if (std::optional<Error> why = joined_->fault()) return std::move(*why);
  joined_->send({{{"do", "set"}, {"key", key}}, std::string(value)});
  return Ok{};
}

Result<std::string> ControlClient::get(const std::string& key, double patience_s) {
  std::unique_lock lock(joined_->mutex);
  const int64_t id = joined_->next_id++;
  joined_->answers[id];
  joined_->send({{{"do", "get"}, {"key", key}, {"id", id}}, ""});
  return std::move(HONE_TRY(joined_->answer(lock, id, patience_s, [&] {
                     return Error(err::kRanksMissing,
                                  fmt::format("no rank has set '{}' within {}", key,
                                              format_duration(patience_s)));
                   })).body);
}

Status ControlClient::publish(const std::string& key, const Json& value) {
  return set(kJsonPrefix + key, dump_json(value));
}

Result<Json> ControlClient::published(const std::string& key, double patience_s) {
  const std::string text = HONE_TRY(get(kJsonPrefix + key, patience_s));
  return parse_json(text, key);
}

Result<std::vector<std::string>> ControlClient::gather(const std::string& name,
                                                       std::string_view mine, double patience_s) {
  HONE_BUG_IF(mine.size() > kMostValueBytes, "{} bytes in a meeting", mine.size());
  std::unique_lock lock(joined_->mutex);
  const int64_t id = joined_->next_id++;
  joined_->answers[id];
  joined_->send_heartbeat();
  joined_->send({{{"do", "meet"}, {"name", name}, {"id", id}}, std::string(mine)});
  const Frame frame = HONE_TRY(joined_->answer(lock, id, patience_s, [&] {
    return Error(err::kRanksMissing, fmt::format("not all ranks came to '{}' within {}", name,
                                                 format_duration(patience_s)))
        .todo("read the lines of the launcher: they name the ranks that are missing");
  }));
  std::vector<std::string> all;
  size_t at = 0;
  for (const Json& size : value_at(frame.head, "sizes")) {
    const auto bytes = static_cast<size_t>(size.is_number_integer() ? size.get<int64_t>() : 0);
    all.push_back(frame.body.substr(std::min(at, frame.body.size()), bytes));
    at += bytes;
  }
  if (static_cast<int>(all.size()) != world().ranks || at != frame.body.size())
    return Error(err::kControlMessage, "a meeting of the ranks has an answer of another size");
  return all;
}

Status ControlClient::barrier(const std::string& name, double patience_s) {
  HONE_TRY(gather(name, "", patience_s));
  return Ok{};
}

void ControlClient::set_step(int64_t step) {
  const std::lock_guard lock(joined_->mutex);
  joined_->progress.step = step;
  if (joined_->options.clock->seconds() - joined_->last_heartbeat < kLeastHeartbeatSeconds) return;
  joined_->send_heartbeat();
  (void)::eventfd_write(joined_->wake.get(), 1);
}

void ControlClient::measure_traffic() {
  const std::lock_guard lock(joined_->mutex);
  joined_->measures_traffic = true;
}

void ControlClient::set_busy(int64_t timed_steps, double p50_s, double p99_s) {
  const std::lock_guard lock(joined_->mutex);
  joined_->progress.timed_steps = timed_steps;
  joined_->progress.busy_p50_s = p50_s;
  joined_->progress.busy_p99_s = p99_s;
}

void ControlClient::reach(int64_t collective, std::string_view node) {
  const std::lock_guard lock(joined_->mutex);
  joined_->progress.collective = collective;
  joined_->progress.node = node;
  joined_->progress.waiting = true;
  joined_->since = joined_->options.clock->seconds();
}

void ControlClient::pass() {
  const std::lock_guard lock(joined_->mutex);
  joined_->progress.waiting = false;
  joined_->since = joined_->options.clock->seconds();
}

void ControlClient::set_work(std::string_view work, int64_t done, int64_t total) {
  const std::lock_guard lock(joined_->mutex);
  if (joined_->progress.work != work) joined_->since = joined_->options.clock->seconds();
  joined_->progress.work = work;
  joined_->progress.work_done = done;
  joined_->progress.work_total = total;
}

Result<Frame> ControlClient::Joined::ask(std::unique_lock<std::mutex>& lock, Json head) {
  send_heartbeat();
  const int64_t id = next_id++;
  answers[id];
  head["id"] = id;
  send({std::move(head), ""});
  return answer(lock, id, kLeaveSeconds, [] {
    return Error(err::kControlLost, "the control plane does not answer")
        .todo("look at the process of rank 0 or its launcher");
  });
}

Result<std::vector<MissingRank>> ControlClient::who_is_missing(int64_t collective) {
  std::unique_lock lock(joined_->mutex);
  const Frame frame = HONE_TRY(joined_->ask(lock, {{"do", "missing"}, {"collective", collective}}));
  std::vector<MissingRank> missing;
  for (const Json& m : value_at(frame.head, "ranks"))
    missing.push_back(
        {static_cast<int>(whole_at(m, "rank")), text_at(m, "host"), text_at(m, "doing")});
  return missing;
}

Result<std::vector<RankTimes>> ControlClient::rank_times() {
  std::unique_lock lock(joined_->mutex);
  const Frame frame = HONE_TRY(joined_->ask(lock, {{"do", "times"}}));
  std::vector<RankTimes> times;
  for (const Json& one : value_at(frame.head, "ranks")) {
    const RankProgress p = progress_of(value_at(one, "progress"));
    times.push_back({static_cast<int>(whole_at(one, "rank")), text_at(one, "host"), p.timed_steps,
                     p.busy_p50_s, p.busy_p99_s});
  }
  return times;
}

void ControlClient::fail(const Error& error, bool follows) {
  const std::lock_guard lock(joined_->mutex);
  Json head = failure_json({world().rank, world().host, joined_->progress_now(), error, follows});
  head["do"] = "fail";
  joined_->send({std::move(head), report_line(error)});
}

std::optional<RankFailure> ControlClient::first_failure() const {
  const std::lock_guard lock(joined_->mutex);
  return joined_->failure;
}

Status report_failure(const World& world, const std::string& token, const RankFailure& failure) {
  const double end = system_clock().seconds() + kLeaveSeconds;
  FrameConnection connection(
      HONE_TRY(connect_to(world.address, world.port, {.patience_s = kLeaveSeconds})),
      kServerLimits);
  Json head = failure_json(failure);
  head["do"] = "report";
  head["token"] = token;
  head["epoch"] = world.epoch;
  connection.queue({std::move(head), report_line(failure.error)});
  while (system_clock().seconds() < end && connection.write() && connection.read())
    system_clock().sleep(0.01);  // until the server ends the connection
  return Ok{};
}

void ControlClient::leave() {
  const std::lock_guard lock(joined_->mutex);
  if (joined_->leaving) return;
  joined_->leaving = true;
  joined_->send({{{"do", "leave"}}, ""});
}

}  // namespace hone
