#include "engine/comm/engines/link_group.h"

#include <atomic>
#include <thread>

#include "base/core/clock.h"
#include "base/core/module.h"
#include "base/ranks/errors.h"
#include "engine/comm/engines/errors.h"
#include "engine/comm/engines/link_greeting.h"
#include "engine/comm/errors.h"
#include "engine/comm/faults.h"

namespace hone {
namespace {

// Stops a group when the control plane says that another rank failed, or is lost itself: every wait for
// a key then ends with an error, and so does one for a key that nobody sets while the group lives. A
// rank whose network is gone is found in no other way, because its connections stay open.
class FailureWatch {
 public:
  FailureWatch(Group& group, KeyValues& keys, std::string key) : keys_(keys), key_(std::move(key)) {
    thread_ = std::thread([this, &group] {
      while (!is_over_) {
        const Result<std::string> end = keys_.get(key_, kWatchSeconds);
        if (end.ok()) return;
        if (end.error().is(err::kRanksMissing)) continue;  // nobody has set it: all is well
        if (!is_over_) group.stop(end.error().what());
        return;
      }
    });
  }
  ~FailureWatch() {
    is_over_ = true;
    (void)keys_.set(key_, "over");
    thread_.join();
  }

 private:
  static constexpr double kWatchSeconds =
      2;  // a wait; so long is the end of a watch without answers
  KeyValues& keys_;
  std::string key_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

class LinkGroup : public Group {
 public:
  // Arguments of make_link_group().
  struct Made {
    LinkModule module;
    std::string address;
    World world;
    CommOptions options;
  };
  LinkGroup(Made made, std::unique_ptr<Link> link, KeyValues& keys, std::string watched)
      : Group(made.module.what, made.world.rank, made.world.ranks),
        made_(std::move(made)),
        keys_(keys),
        link_(std::move(link)),
        watch_(*this, keys, std::move(watched)) {}
  Result<std::unique_ptr<Group>> another(const std::string& name) const override {
    CommOptions options = made_.options;
    options.name = name;
    return make_link_group(made_.module, made_.address, made_.world, keys_, options);
  }

 protected:
  Status transfer(std::span<const Send> sends, std::span<const Receive> receives) override {
    Link::Fault fault;
    if (link_->transfer(sends, receives, fault)) return Ok{};
    return peer_lost(rank(), fault.peer, fault.why);
  }
  void wake() override { link_->wake(); }

 private:
  const Made made_;
  KeyValues& keys_;
  std::unique_ptr<Link> link_;
  FailureWatch watch_;
};

// The keys of one group in those of the run, and the first error that they had.
class PrefixedKeys final : public LinkKeys {
 public:
  PrefixedKeys(KeyValues& keys, std::string prefix, double patience_s)
      : keys_(keys), prefix_(std::move(prefix)), patience_s_(patience_s) {}
  bool set(const std::string& key, const std::string& value, std::string& error) override {
    return kept(keys_.set(prefix_ + key, value), error);
  }
  bool get(const std::string& key, std::string& value, std::string& error) override {
    Result<std::string> got = keys_.get(prefix_ + key, patience_s_);
    if (got.ok()) value = std::move(*got);
    return kept(got, error);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  bool kept(const Result<T>& result, std::string& error) {
    if (result.ok()) return true;
    if (!error_) error_ = result.error();
    error = result.error().what();
    return false;
  }

  KeyValues& keys_;
  std::string prefix_;
  double patience_s_;
  std::optional<Error> error_;
};

Error no_module(const LinkModule& m, const std::string& why) {
  return Error(err::kCommEngine, fmt::format("cannot use {}: {}", m.what, why))
      .todo(fmt::format("install {} and build hone again, or choose another engine of: {}",
                        m.package, comm_engine_names()));
}

}  // namespace

Result<StartLink> load_link(const LinkModule& m) {
  const Result<Module> module = load_beside_program(m.file);
  if (!module.ok()) return no_module(m, module.error().what());
  if (const auto start = module->symbol<StartLink>(m.symbol.c_str())) return start;
  return no_module(m, fmt::format("{} is not a module of hone", m.file));
}

Result<std::unique_ptr<Group>> make_link_group(const LinkModule& m, const std::string& address,
                                               const World& world, KeyValues& keys,
                                               const CommOptions& options) {
  const StartLink start = HONE_TRY(load_link(m));
  const std::string prefix = fmt::format("comm/{}/{}/{}/", world.epoch, options.name, m.what);
  PrefixedKeys prefixed(keys, prefix, options.connect_s);
  std::string why;
  std::unique_ptr<Link> link(start(kLinkModuleVersion,
                                   {.rank = world.rank,
                                    .ranks = world.ranks,
                                    .address = address,
                                    .connect_s = options.connect_s,
                                    .exchange_s = options.exchange_s,
                                    .clock = &system_clock()},
                                   prefixed, why));
  if (link && greet_peers(*link, world.rank, world.ranks, prefixed, options.connect_s, why))
    return std::unique_ptr<Group>(new LinkGroup({m, address, world, options}, std::move(link), keys,
                                                fmt::format("{}watch/{}", prefix, world.rank)));
  if (prefixed.error()) return *prefixed.error();
  return Error(err::kRanksApart, fmt::format("rank {} cannot connect to the others through {}: {}",
                                             world.rank, m.what, why))
      .at(fmt::format("host {}, address {}", world.host, address.empty() ? "unknown" : address))
      .todo(
          "open the ports between the hosts, or name the network interface that joins them in "
          "HONE_RANKS_INTERFACE");
}

}  // namespace hone
