#include "run/commands/joined_ranks.h"

#include <cstdlib>

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "engine/comm/engines/engines.h"
#include "engine/comm/engines/reach.h"
#include "engine/comm/errors.h"
#include "operate/launch/gpus.h"

namespace hone {
namespace {

// Settings of one host, which may differ between ranks.
bool is_of_host(const Setting& s) {
  return s.secret || (s.group == "Machine" && s.decides.empty());
}

// A long value has its hash.
std::string short_text(const std::string& value) {
  constexpr size_t kMost = 100;
  if (value.size() <= kMost) return value;
  return fmt::format("{}... (hash {:016x})", value.substr(0, kMost), fnv1a(value));
}

// Facts that all ranks share: the program, and the value of each setting by its name.
Result<Json> facts_of_rank(const Schema& schema) {
  OrderedJson settings = OrderedJson::object();
  for (const Setting& s : schema.all())
    if (!is_of_host(s)) settings[s.name] = short_text(dump_json(s.value()));
  Json facts = Json(redact_secrets(settings));
  facts["program"] = HONE_TRY(sha256_of_file(file_store(), "/proc/self/exe"));
  return facts;
}

// Other launchers than hone's show all GPUs of a host to each of its ranks.
Status see_one_gpu(const World& world, const std::string& device) {
  if (device != "auto" && device != "cuda") return Ok{};
  const std::vector<std::string> gpus =
      HONE_TRY(share_gpus(visible_devices(), gpu_uuids(), world.local_ranks, false));
  const auto own = static_cast<size_t>(world.local_rank);
  if (own < gpus.size()) ::setenv("CUDA_VISIBLE_DEVICES", gpus[own].c_str(), 1);
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<JoinedRanks>> JoinedRanks::join(const Task& task, const Schema& schema) {
  std::unique_ptr<JoinedRanks> joined(new JoinedRanks(task.settings));
  const World world = HONE_TRY(read_world());
  TaskSettings& s = *task.settings;
  if (world.is_alone()) {
    if (world.epoch > 1 || world.full_ranks > 1) s.ranks = std::make_shared<RunRanks>(world);
    return joined;
  }
  HONE_TRY(see_one_gpu(world, s.device_here()));
  if (!world.leads()) {
    set_log_level(LogLevel::kError);
    s.print = [](std::string_view) {};
  }
  joined->control_ = HONE_TRY(
      Control::open(world, HONE_TRY(facts_of_rank(schema)), static_cast<double>(s.ddp_timeout)));
  ControlClient& client = joined->control_->client();
  // NCCL has no messages of the host; a GPU connects to the others when its programs are compiled.
  const bool is_of_gpus = s.ddp_backend.empty() || s.ddp_backend == "nccl";
  joined->group_ =
      HONE_TRY(make_group(is_of_gpus ? "gloo" : s.ddp_backend, client.world(), client));
  s.ranks = std::make_shared<RunRanks>(client.world(), client, *joined->group_, &client);
  // Other hosts read copies in memory from here.
  if (s.memory_save_steps > 0 && world.local_ranks < world.ranks)
    s.ranks->set_address(
        HONE_TRY(reachable_address(client.world(), client, {.name = "copies in memory"})));
  log_info("{:<11} {} of {} on {}, messages by {}, ZeRO stage {}", "rank", world.rank, world.ranks,
           world.host, joined->group_->name(), s.zero_stage);
  return joined;
}

JoinedRanks::~JoinedRanks() { settings_->ranks = std::make_shared<RunRanks>(); }

Result<int> JoinedRanks::end(Result<int> status) {
  if (alone()) return status;
  if (status.ok()) {
    HONE_TRY(control_->end(Ok{}));
    return status;
  }
  // A rank that lost another one follows it.
  const Error& error = status.error();
  const Control::Cause cause = error.is(err::kPeerLost) || error.is(err::kCommStopped)
                                   ? Control::Cause::follows
                               : settings_->ranks->was_told_error() ? Control::Cause::told
                                                                    : Control::Cause::own;
  Status ended = control_->end(error, cause);
  if (!ended.ok()) return std::move(ended.error());
  return status;
}

}  // namespace hone
