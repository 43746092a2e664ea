#include "base/store/work_items.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <random>
#include <set>
#include <vector>

#include "base/core/json.h"
#include "base/core/process.h"
#include "base/core/process_id.h"
#include "base/store/errors.h"
#include "base/store/store.h"

namespace hone {
namespace {

constexpr std::string_view kLease = ".lease-", kDone = ".done";

// The number at the start of `text`, which is removed; -1 if there is none.
int64_t take_number(std::string_view& text) {
  int64_t n = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), n).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return n;
}

Status write_new_file(const std::string& path, std::string_view text) {
  const std::unique_ptr<Writer> writer = HONE_TRY(file_store().create_new(path));
  HONE_TRY(writer->write(text));
  return writer->commit();
}

Json self_as_owner() {
  std::random_device random;
  return {{"host", host_name()},
          {"space", process_space()},
          {"pid", ::getpid()},
          {"start", start_of_process(::getpid())},
          {"name", fmt::format("{:08x}{:08x}", random(), random())}};
}

// Whether the process of a lease was on this host and has ended.
bool is_gone(const std::string& text) {
  // The number of beats follows.
  const Result<Json> lease = parse_json(text.substr(0, text.find('}') + 1), "lease");
  if (!lease.ok() || !lease->is_object()) return false;
  const Json here = self_as_owner();
  const auto is_here = [&](const char* key) {
    return lease->contains(key) && (*lease)[key] == here[key];
  };
  if (!is_here("host") || !is_here("space") || !lease->contains("pid") ||
      !(*lease)["pid"].is_number_integer())
    return false;
  return lease->value("start", Json()) != start_of_process((*lease)["pid"].get<int64_t>());
}

}  // namespace

WorkItems::WorkItems(std::string folder, int64_t count, double stale_s, Clock& clock)
    : folder_(std::move(folder)), count_(count), stale_s_(stale_s), clock_(clock) {
  // Processes that begin at different items seldom meet.
  first_ = count > 0 ? static_cast<int64_t>(std::random_device()()) % count : 0;
}

WorkItems::~WorkItems() { give_back(); }

std::string WorkItems::lease_file(int64_t item, int64_t number) const {
  return fmt::format("{}/{:06}{}{:03}", folder_, item, kLease, number);
}

std::string WorkItems::done_file(int64_t item) const {
  return fmt::format("{}/{:06}{}", folder_, item, kDone);
}

Result<std::optional<int64_t>> WorkItems::take() {
  HONE_BUG_IF(held_ >= 0, "item {} is held", held_);
  std::set<int64_t> done;
  std::map<int64_t, int64_t> leases;  // the last number, by item
  auto listed = file_store().list(folder_);
  // A folder of a bucket exists when something is in it.
  if (!listed.ok() && listed.error().is(err::kStoreMissing)) listed = std::vector<Store::Entry>();
  for (const Store::Entry& e : HONE_TRY(std::move(listed))) {
    std::string_view name = e.name;
    const int64_t item = take_number(name);
    if (item < 0 || item >= count_) continue;
    if (name == kDone) done.insert(item);
    if (!name.starts_with(kLease)) continue;
    name.remove_prefix(kLease.size());
    leases[item] = std::max(leases[item], take_number(name));
  }
  done_ = static_cast<int64_t>(done.size());
  for (const bool stale : {false, true})
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t item = (first_ + i) % count_;
      const auto lease_of = leases.find(item);
      if (done.contains(item) || (lease_of != leases.end()) != stale) continue;
      const int64_t number = stale ? lease_of->second : 0;
      if (stale && !is_stale(item, number)) continue;
      if (HONE_TRY(lease(item, number + 1))) return std::optional(item);
    }
  return std::optional<int64_t>();
}

bool WorkItems::is_stale(int64_t item, int64_t number) {
  const Result<std::string> text = file_store().read(lease_file(item, number));
  if (!text.ok()) return false;  // it is being written or was given back
  if (is_gone(*text)) return true;
  Seen& seen = seen_[item];
  if (seen.text != *text) seen = {*text, clock_.seconds()};
  return clock_.seconds() - seen.since >= stale_s_;
}

// False if another process was first.
Result<bool> WorkItems::lease(int64_t item, int64_t number) {
  owner_ = self_as_owner().dump();
  const std::string file = lease_file(item, number);
  if (Status written = write_new_file(file, owner_ + "\n"); !written.ok()) {
    if (written.error().is(err::kLostRace)) return false;
    return std::move(written.error());
  }
  held_ = item;
  held_file_ = file;
  // It may have been done since the folder was listed.
  if (HONE_TRY(file_store().exists(done_file(item)))) {
    give_back();
    return false;
  }
  ended_ = false;
  beats_ = std::thread([this] { beat(); });
  return true;
}

void WorkItems::beat() {
  std::unique_lock lock(mutex_);
  const auto pause = std::chrono::duration<double>(stale_s_ / 4);
  for (int64_t beats = 1; !wake_.wait_for(lock, pause, [&] { return ended_; }); ++beats) {
    lock.unlock();
    // A beat that fails is followed by others; without any the lease becomes stale, which costs
    // time only.
    (void)file_store().write(held_file_, fmt::format("{} {}\n", owner_, beats));
    lock.lock();
  }
}

void WorkItems::stop_beating() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  if (beats_.joinable()) beats_.join();
}

Status WorkItems::commit(std::string_view result) {
  HONE_BUG_IF(held_ < 0, "no item is held");
  Status written = write_new_file(done_file(held_), result);
  give_back();
  if (!written.ok() && written.error().is(err::kLostRace)) return Ok{};
  return written;
}

void WorkItems::give_back() {
  if (held_ < 0) return;
  stop_beating();
  (void)file_store().remove(held_file_);  // if it stays it becomes stale
  held_ = -1;
}

Result<std::string> WorkItems::result(int64_t item) const {
  return file_store().read(done_file(item));
}

}  // namespace hone
