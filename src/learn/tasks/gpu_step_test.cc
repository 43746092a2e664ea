// A training step on a GPU that this machine does not have: its kernels, the bytes that they move
// and its memory, from the list of launches.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/backends/backends.h"
#include "engine/backends/cuda/launch_tables.h"
#include "engine/device/lower.h"
#include "engine/ops/cost.h"
#include "engine/session/session.h"
#include "learn/harness/budget/programs.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

constexpr int64_t kRows = 8, kRowTokens = 1024;

struct StepCounts {
  int kernels = 0;
  int casts = 0;     // of activations and their gradients
  double bytes = 0;  // each operand and result of a node once, each byte of its workspace twice
  int64_t arena = 0;
};

// Whether the launch only changes the type or the rows of an operand with a row for each token.
bool casts_activation(const NodeView& n, const cuda::Launch& l) {
  if (!l.kernel.starts_with("cast_") && !l.kernel.starts_with("pad_rows_")) return false;
  const cuda::LaunchArgument& from = l.arguments[0];
  if (from.of != cuda::LaunchArgument::Of::input) return false;
  const Type& t = n.in(from.index);
  return t.rank() == 2 && t.shape[0] == kRows * kRowTokens;
}

void count_node(const NodeView& n, const cuda::LaunchTable& table, int64_t library_bytes,
                StepCounts& counts) {
  counts.bytes += cost_of(n).bytes;
  if (!has_kernel(n)) return;
  const cuda::Launches all = cuda::launches_of(table, n).value();
  int64_t workspace = all.workspace_bytes;
  bool by_library = false;
  for (const cuda::Launch& l : all.launches) {
    ++counts.kernels;
    by_library |= l.library.has_value();
    counts.casts += casts_activation(n, l) ? 1 : 0;
  }
  if (by_library) workspace -= library_bytes;
  counts.bytes += 2.0 * static_cast<double>(std::max<int64_t>(workspace, 0));
}

// The step of a GPT-2 of this size over 8 rows of 1,024 tokens in bf16, without dropout.
StepCounts counts_of_step(int64_t layers, int64_t channels, int64_t heads) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("gpu_step.{}", getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << fmt::format(
      R"({{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": {}, "n_embd": {},
          "n_head": {}, "n_positions": 1024, "n_ctx": 1024, "vocab_size": 50257,
          "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "resid_pdrop": 0.0,
          "embd_pdrop": 0.0, "attn_pdrop": 0.0, "initializer_range": 0.02}})",
      layers, channels, heads);
  const Task task = task_named("clm");
  task.settings->bf16 = true;
  OpenOptions o;
  o.need_weights = o.need_tokenizer = false;
  Pretrained model = open_pretrained(folder.string(), o).value();
  EXPECT_TRUE(task.choose_head(model.config).ok());
  const DeviceSpec spec = device_spec("h200").value();
  const TaskModel m = TaskModel::make(task, model, spec).value();
  RunShapes shapes;
  BatchShape shape;
  for (const RowLimit& limit : m.form.limits)
    shape.axes.push_back({limit.axis, kRows * kRowTokens});
  shapes.train = {{shape.with(kSequences, kRows)}, kRows};
  const std::unique_ptr<Backend> gpu = plan_backend(spec).value();
  const Session session = Session::compile(run_programs(m, shapes).value(), *gpu).value();
  StepCounts counts;
  counts.arena = session.plan().arena_bytes(Space::device);
  const cuda::LaunchTable table = cuda::launch_table(cuda::launch_options(spec));
  const Program& step = session.programs()[0];
  for (const Node& n : step.nodes) count_node({step, n}, table, spec.workspace_bytes, counts);
  std::filesystem::remove_all(folder);
  return counts;
}

void expect_at_most(const StepCounts& counts, const StepCounts& most) {
  EXPECT_LE(counts.kernels, most.kernels);
  EXPECT_LE(counts.casts, most.casts);
  EXPECT_LE(counts.bytes, most.bytes);
  EXPECT_LE(counts.arena, most.arena);
}

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(GpuStep, Gpt2) {
  expect_at_most(counts_of_step(12, 768, 12),
                 {.kernels = 590, .casts = 75, .bytes = 25.6e9, .arena = 4'400 * kMiB});
}

TEST(GpuStep, Gpt2Xl) {
  expect_at_most(counts_of_step(48, 1600, 25),
                 {.kernels = 2219, .casts = 291, .bytes = 219e9, .arena = 40'700 * kMiB});
}

}  // namespace
}  // namespace hone
