#include "base/ranks/world.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/core/process.h"
#include "base/ranks/errors.h"

namespace hone {
namespace {

constexpr int kMostRanks = 65536, kMostPort = 65535;

// Reads numbers of variables; remembers the first fault.
class NumberReader {
 public:
  explicit NumberReader(const Variables& variable) : variable_(variable) {}

  std::optional<int64_t> number(const char* name, int64_t least, int64_t most) {
    const std::string text = variable_(name);
    if (text.empty()) return std::nullopt;
    int64_t n = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, n);
    if (read.ec != std::errc() || read.ptr != end || n < least || n > most) {
      say(fmt::format("{}={} is not a number from {} to {}", name, text, least, most));
      return std::nullopt;
    }
    return n;
  }
  void say(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }
  const std::string& fault() const { return fault_; }

 private:
  const Variables& variable_;
  std::string fault_;
};

// The variables of one launcher.
struct RankVariables {
  const char *rank, *ranks, *local_rank, *local_ranks;
};
constexpr RankVariables kTorchrun = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr RankVariables kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr RankVariables kSlurm = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
constexpr RankVariables kSlurmJob = {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""};

// The number of tasks of one node in a list such as "2(x3),1".
std::optional<int64_t> tasks_of_node(const std::string& list, int64_t node) {
  for (const std::string& part : split(list, ',')) {
    int64_t tasks = 0, nodes = 1;
    const char* const end = part.data() + part.size();
    const auto [at, failed] = std::from_chars(part.data(), end, tasks);
    if (failed != std::errc() || tasks < 1) return std::nullopt;
    if (at != end && (!std::string_view(at, static_cast<size_t>(end - at)).starts_with("(x") ||
                      std::from_chars(at + 2, end, nodes).ec != std::errc()))
      return std::nullopt;
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return std::nullopt;
}

const RankVariables* group_of(const Variables& variable) {
  const auto set = [&](const char* name) { return !variable(name).empty(); };
  // RANK=0 alone says nothing of other ranks, and neither does WORLD_SIZE=1.
  if (set("WORLD_SIZE") || (set("RANK") && variable("RANK") != "0")) return &kTorchrun;
  if (set("OMPI_COMM_WORLD_RANK")) return &kOpenMpi;
  if (set("SLURM_PROCID") && set("SLURM_STEP_ID"))
    return set("SLURM_STEP_NUM_TASKS") ? &kSlurm : &kSlurmJob;
  return nullptr;
}

void read_ranks(const RankVariables& names, const Variables& variable, NumberReader& reader,
                World& world) {
  const auto ranks = reader.number(names.ranks, 1, kMostRanks);
  if (!ranks && reader.fault().empty())
    reader.say(
        fmt::format("{}={} and {} is not set", names.rank, variable(names.rank), names.ranks));
  const auto rank = reader.number(names.rank, 0, ranks.value_or(1) - 1);
  if (!rank && ranks.value_or(1) > 1 && reader.fault().empty())
    reader.say(fmt::format("{}={} and {} is not set", names.ranks, *ranks, names.rank));
  world.ranks = static_cast<int>(ranks.value_or(1));
  world.rank = static_cast<int>(rank.value_or(0));
  auto local_ranks = *names.local_ranks ? reader.number(names.local_ranks, 1, world.ranks)
                                        : std::optional<int64_t>();
  if (!*names.local_ranks)
    local_ranks = tasks_of_node(variable("SLURM_STEP_TASKS_PER_NODE"),
                                reader.number("SLURM_NODEID", 0, kMostRanks).value_or(0));
  const auto local_rank = reader.number(
      names.local_rank, 0, std::min<int64_t>(world.rank, local_ranks.value_or(kMostRanks) - 1));
  world.local_rank = static_cast<int>(local_rank.value_or(0));
  world.local_ranks = static_cast<int>(local_ranks.value_or(world.local_rank + 1));
}

}  // namespace

World World::alone() { return {.host = host_name()}; }

Result<World> read_world(const Variables& variable) {
  World world = World::alone();
  NumberReader reader(variable);
  const RankVariables* const names = group_of(variable);
  if (names == nullptr) return world;
  read_ranks(*names, variable, reader, world);
  // Several nodes of a test cluster may be one machine.
  if (const std::string node = variable("SLURMD_NODENAME");
      !node.empty() && (names == &kSlurm || names == &kSlurmJob))
    world.host = node;
  world.epoch = reader.number("HONE_RANKS_EPOCH", 1, INT64_MAX).value_or(1);
  world.full_ranks = static_cast<int>(
      reader.number("HONE_RANKS_FULL", world.ranks, kMostRanks).value_or(world.ranks));
  world.served = variable("HONE_RANKS_SERVED") == "1";
  if (!world.is_alone()) {
    world.address = variable("MASTER_ADDR");
    world.port = static_cast<int>(reader.number("MASTER_PORT", 1, kMostPort).value_or(0));
    for (const char* name : {"MASTER_ADDR", "MASTER_PORT"})
      if (variable(name).empty())
        reader.say(fmt::format("there are {} ranks and {} is not set", world.ranks, name));
  }
  if (!reader.fault().empty())
    return Error(err::kWorldVariables, reader.fault())
        .at("the environment")
        .todo(
            "start the ranks by hone launch, which sets these variables; else set MASTER_ADDR to "
            "the host of rank 0, MASTER_PORT to a free port there, and RANK and WORLD_SIZE for "
            "each process");
  return world;
}

std::map<std::string, std::string> world_variables(const World& world) {
  std::map<std::string, std::string> variables = {
      {"RANK", std::to_string(world.rank)},
      {"WORLD_SIZE", std::to_string(world.ranks)},
      {"LOCAL_RANK", std::to_string(world.local_rank)},
      {"LOCAL_WORLD_SIZE", std::to_string(world.local_ranks)},
      {"HONE_RANKS_EPOCH", std::to_string(world.epoch)}};
  if (world.full_ranks > world.ranks)
    variables["HONE_RANKS_FULL"] = std::to_string(world.full_ranks);
  if (world.served) variables["HONE_RANKS_SERVED"] = "1";
  if (!world.address.empty()) {
    variables["MASTER_ADDR"] = world.address;
    variables["MASTER_PORT"] = std::to_string(world.port);
  }
  return variables;
}

std::string new_ranks_token() {
  std::array<unsigned char, 16> bytes{};
  HONE_BUG_IF(::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()),
              "the kernel gives no random bytes");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

}  // namespace hone
