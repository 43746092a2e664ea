#include "learn/train/host_copies.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/ranks/world.h"
#include "base/store/errors.h"
#include "learn/checkpoint/ranges.h"
#include "learn/checkpoint/safetensors/safetensors.h"
#include "learn/train/run_copies.h"
#include "learn/train/settings.h"

namespace hone {
namespace {

constexpr int64_t kNoStep = -1, kAnyStep = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostRanksOfCopies = 1 << 20;

std::optional<int64_t> number_of(const std::string& text) {
  int64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc() || end != text.data() + text.size() || n < 0) return {};
  return n;
}

// The ranks of each host, hosts in the order of their first rank.
std::vector<std::vector<int>> ranks_by_host(const std::vector<std::string>& hosts) {
  std::vector<std::vector<int>> all;
  std::map<std::string, size_t> known;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [it, is_new] = known.emplace(hosts[rank], all.size());
    if (is_new) all.emplace_back();
    all[it->second].push_back(static_cast<int>(rank));
  }
  return all;
}

Json parts_json(const std::vector<CopyPart>& parts) {
  Json list = Json::array();
  for (const CopyPart& p : parts) list.push_back({p.epoch, p.rank, p.ranks, p.step});
  return list;
}

std::vector<CopyPart> parts_in(const Json& list) {
  std::vector<CopyPart> parts;
  for (const Json& p : list)
    parts.push_back(
        {p.at(0).get<int64_t>(), p.at(1).get<int>(), p.at(2).get<int>(), p.at(3).get<int64_t>()});
  return parts;
}

// The parts that have a name in the memory of this host.
Result<std::vector<CopyPart>> named_parts(const std::string& memory) {
  std::vector<CopyPart> parts;
  for (const Store::Entry& e : HONE_TRY(file_store().list(memory))) {
    std::optional<CopyPart> part = CopyPart::of_folder(e.name);
    if (!e.folder || !part) continue;
    for (const Store::Entry& saved : HONE_TRY(file_store().list(memory + "/" + e.name))) {
      part->step = step_of_checkpoint_name(saved.name);
      if (part->step >= 0) parts.push_back(*part);
    }
  }
  return parts;
}

// Those that are complete. Remains of killed ranks go: nobody writes there.
Result<std::vector<CopyPart>> complete_parts(const std::string& memory) {
  for (const Store::Entry& e : HONE_TRY(file_store().list(memory)))
    if (CopyPart::of_folder(e.name)) HONE_TRY(clean_leftovers(memory + "/" + e.name));
  std::vector<CopyPart> parts = HONE_TRY(named_parts(memory));
  std::erase_if(parts, [&](const CopyPart& part) {
    const Result<CheckpointInfo> info = inspect_checkpoint(memory + "/" + part.path());
    return !info.ok() || !info->by_hone;
  });
  return parts;
}

}  // namespace

std::optional<CopyPart> CopyPart::of_folder(const std::string& name) {
  const std::vector<std::string> words = split(name, '-');
  if (words.size() != 4 || words[2] != "of") return {};
  const auto epoch = number_of(words[0]), rank = number_of(words[1]), ranks = number_of(words[3]);
  if (!epoch || !rank || !ranks || *ranks > kMostRanksOfCopies || *rank >= *ranks) return {};
  return CopyPart{*epoch, static_cast<int>(*rank), static_cast<int>(*ranks)};
}

std::optional<CopySet> newest_copy_set(const std::vector<std::vector<CopyPart>>& held) {
  struct Key {
    int64_t step, epoch;
    int ranks;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::map<int, std::vector<int>>> sets;  // the ranks that have a part
  for (size_t rank = 0; rank < held.size(); ++rank)
    for (const CopyPart& p : held[rank])
      sets[{p.step, p.epoch, p.ranks}][p.rank].push_back(static_cast<int>(rank));
  for (auto it = sets.rbegin(); it != sets.rend(); ++it) {
    const auto& [key, parts] = *it;
    if (std::ssize(parts) != key.ranks || parts.begin()->second.front() != 0) continue;
    CopySet set{{key.epoch, 0, key.ranks, key.step}, {}};
    for (const auto& [part, ranks] : parts)
      set.holders.push_back(ranks[static_cast<size_t>(part) % ranks.size()]);
    set.holders[0] = 0;
    return set;
  }
  return {};
}

std::vector<int> copied_ranks(const std::vector<std::string>& hosts, int rank, int64_t copies) {
  const std::vector<std::vector<int>> all = ranks_by_host(hosts);
  const auto has_rank = [rank](const std::vector<int>& own) {
    return std::find(own.begin(), own.end(), rank) != own.end();
  };
  const auto host = std::find_if(all.begin(), all.end(), has_rank) - all.begin();
  const std::vector<int>& own = all[static_cast<size_t>(host)];
  const auto place = std::find(own.begin(), own.end(), rank) - own.begin();
  std::vector<int> copied;
  for (int64_t k = 1; k <= std::min(copies, std::ssize(all) - 1); ++k) {
    const auto& before = all[static_cast<size_t>((host - k + std::ssize(all)) % std::ssize(all))];
    for (auto i = place; i < std::ssize(before); i += std::ssize(own))
      copied.push_back(before[static_cast<size_t>(i)]);
  }
  return copied;
}

HostCopies::HostCopies(RunRanks& ranks, CopyOptions o)
    : ranks_(ranks),
      memory_(std::move(o.memory)),
      address_(std::move(o.address)),
      token_(std::move(o.token)),
      asked_hosts_(o.hosts) {}

HostCopies::~HostCopies() {
  for (const auto& [rank, store] : stores_) store->stop();
}

CopyPart HostCopies::part_of(int64_t rank, int64_t step) const {
  return {ranks_.epoch(), static_cast<int>(rank), static_cast<int>(ranks_.share().ranks), step};
}

PeerStore& HostCopies::store_of(int rank) {
  auto& store = stores_[rank];
  const Place& at = places_[static_cast<size_t>(rank)];
  if (!store)
    store = std::make_unique<PeerStore>(fmt::format("rank {} on host {}", rank, at.name),
                                        at.address, at.port, token_);
  return *store;
}

bool HostCopies::leads_host() const {
  const auto own = static_cast<size_t>(ranks_.share().rank);
  for (size_t rank = 0; rank < own; ++rank)
    if (places_[rank].host == places_[own].host) return false;
  return true;
}

Result<std::shared_ptr<HostCopies>> HostCopies::open(RunRanks& ranks, CopyOptions options) {
  std::shared_ptr<HostCopies> copies(new HostCopies(ranks, std::move(options)));
  HONE_TRY(copies->meet());
  for (const Place& p : copies->places_)
    if (p.host.empty()) return std::shared_ptr<HostCopies>();
  HONE_TRY(copies->find_parts());
  return copies;
}

Result<std::shared_ptr<HostCopies>> HostCopies::open(const TrainSettings& s) {
  if (s.memory_save_steps == 0) return std::shared_ptr<HostCopies>();
  return open(*s.ranks, {.memory = memory_folder(),
                         .address = s.ranks->address(),
                         .token = environment(kTokenOfRanks),
                         .hosts = s.memory_save_hosts});
}

Status HostCopies::meet() {
  Status served = Ok{};
  if (!memory_.empty() && !address_.empty()) {
    Result<std::unique_ptr<PeerServer>> server = PeerServer::open(memory_, token_);
    if (server.ok())
      server_ = std::move(*server);
    else
      served = std::move(server.error());
  }
  HONE_TRY(ranks_.agree("a server of copies in memory", served));
  // The names of two hosts may be equal, those of their folders differ.
  const std::string host = memory_.empty() ? "" : ranks_.host() + ":" + memory_;
  const Json mine = {{"host", host},
                     {"name", ranks_.host()},
                     {"address", address_},
                     {"port", server_ ? server_->port() : 0}};
  std::vector<std::string> hosts;
  for (const Json& p : HONE_TRY(ranks_.gather("the hosts of copies in memory", mine))) {
    places_.push_back({text_at(p, "host"), text_at(p, "name"), text_at(p, "address"),
                       static_cast<int>(whole_at(p, "port"))});
    hosts.push_back(places_.back().host);
  }
  copies_ = hosts_of_copies(asked_hosts_, std::ssize(ranks_by_host(hosts))) - 1;
  sources_ = copied_ranks(hosts, static_cast<int>(ranks_.share().rank), copies_);
  return Ok{};
}

Status HostCopies::find_parts() {
  Result<std::vector<CopyPart>> own = std::vector<CopyPart>();
  if (leads_host()) own = complete_parts(memory_);
  HONE_TRY(ranks_.agree("copies in memory", own.ok() ? Status(Ok{}) : own.error()));
  const std::vector<Json> of_hosts = HONE_TRY(ranks_.gather("copies in memory", parts_json(*own)));
  std::vector<std::vector<CopyPart>> held;
  for (size_t rank = 0; rank < places_.size(); ++rank) {
    size_t first = 0;
    while (places_[first].host != places_[rank].host) ++first;
    held.push_back(parts_in(of_hosts[first]));
  }
  newest_ = newest_copy_set(held);
  return Ok{};
}

Status HostCopies::verify(const CopySet& set) const {
  CopyPart part = set.first;
  for (; part.rank < part.ranks; ++part.rank)
    if (set.holders[static_cast<size_t>(part.rank)] == ranks_.share().rank)
      HONE_TRY(verify_checkpoint(memory_ + "/" + part.path()));
  return Ok{};
}

Result<ResumeState> HostCopies::open_newest() {
  const CopySet& set = *newest_;
  HONE_TRY(ranks_.agree("whole copies in memory", verify(set)));
  ResumeState r;
  std::vector<std::unique_ptr<WeightSource>> weights, moments;
  CopyPart part = set.first;
  for (; part.rank < part.ranks; ++part.rank) {
    const bool is_here = path_exists(memory_ + "/" + part.path());
    Store& store = is_here ? file_store() : store_of(set.holders[static_cast<size_t>(part.rank)]);
    const std::string path = is_here ? memory_ + "/" + part.path() : part.path();
    weights.push_back(HONE_TRY(open_safetensors(path + "/model.safetensors", store)));
    moments.push_back(
        HONE_TRY(open_safetensors(fmt::format("{}/{}.safetensors", path, kOptimizerStem), store)));
    if (part.rank > 0) continue;
    const std::string state = path + "/" + kStateFile, log = path + "/" + kTrainerStateFile;
    r.state = HONE_TRY(parse_json(HONE_TRY(store.read(state)), state));
    r.trainer_state = HONE_TRY(parse_json(HONE_TRY(store.read(log)), log));
  }
  r.weights = HONE_TRY(join_ranges(std::move(weights)));
  r.optimizer = HONE_TRY(join_ranges(std::move(moments)));
  return r;
}

Status HostCopies::spread(int64_t step) {
  if (copies_ == 0) return keep_from(step);
  spreading_ = step;
  for (const int rank : sources_) store_of(rank);
  copying_ = std::make_unique<BackgroundSave>([this, step](const auto& all_read) -> Status {
    all_read();
    for (const int rank : sources_) {
      const CopyPart part = part_of(rank, step);
      HONE_TRY(copy_checkpoint(part.path(), *stores_.at(rank), memory_ + "/" + part.folder()));
    }
    return Ok{};
  });
  return Ok{};
}

Result<bool> HostCopies::settle() {
  if (spreading_ == kNoStep) return true;
  const int64_t step = std::exchange(spreading_, kNoStep);
  const Status copied = copying_->wait();
  copying_.reset();
  const Status all = ranks_.agree("copies on other hosts", copied);
  if (all.ok()) {
    HONE_TRY(keep_from(step));
    return true;
  }
  // A lost rank ends the run, which continues from the older copy.
  HONE_TRY(ranks_.agree("copies on other hosts", Ok{}));
  log_warning("the copy of step {} in memory is not on all hosts, the older one stays: {}", step,
              all.error().text());
  // Those of this membership alone: the older one may be of another.
  if (leads_host())
    for (const CopyPart& p : HONE_TRY(named_parts(memory_)))
      if (p.epoch == ranks_.epoch() && p.step == step)
        HONE_TRY(delete_checkpoint(memory_ + "/" + p.path()));
  return !all.error().is(err::kStoreFull);
}

Status HostCopies::keep_from(int64_t first) const {
  if (!leads_host()) return Ok{};
  for (const CopyPart& p : HONE_TRY(named_parts(memory_)))
    if (p.epoch != ranks_.epoch() || p.step < first)
      HONE_TRY(delete_checkpoint(memory_ + "/" + p.path()));
  return Ok{};
}

Status HostCopies::drop() { return keep_from(kAnyStep); }

}  // namespace hone
