// A training step on a GPU that this machine does not have: its kernels, the bytes that they move
// and its memory, from the list of launches.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

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

struct OpCounts {
  int kernels = 0;
  double bytes = 0;      // each operand and result of a node once, each byte of its workspace twice
  double by_launch = 0;  // each operand and result of a launch once, as if no cache kept them
};
struct StepCounts {
  int kernels = 0;
  int casts = 0;  // of activations and their gradients
  double bytes = 0;
  double by_launch = 0;
  int64_t arena = 0;
  std::map<std::string, OpCounts> by_op = {};
};

// A line for each op, the most bytes first.
std::string counts_by_op(const StepCounts& counts) {
  std::vector<std::pair<std::string, OpCounts>> ops(counts.by_op.begin(), counts.by_op.end());
  std::sort(ops.begin(), ops.end(),
            [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  std::string text;
  for (const auto& [op, of] : ops)
    text += fmt::format("{:28}{:7}{:9.2f} GB,{:9.2f} GB by launch\n", op, of.kernels,
                        of.bytes / 1e9, of.by_launch / 1e9);
  return text;
}

// Whether the launch only changes the type or the rows of an operand with a row for each token.
bool casts_activation(const NodeView& n, const cuda::Launch& l) {
  if (!l.kernel.starts_with("cast_") && !l.kernel.starts_with("pad_rows_")) return false;
  const cuda::LaunchArgument& from = l.arguments[0];
  if (from.of != cuda::LaunchArgument::Of::input) return false;
  const Type& t = n.in(from.index);
  return t.rank() == 2 && t.shape[0] == kRows * kRowTokens;
}

double bytes_of_product(const cuda::LibraryProduct& p) {
  const auto matrix = [&](int64_t rows, int64_t columns, cuda::cudaDataType t) {
    const int64_t size = t == cuda::CUDA_R_64F ? 8 : t == cuda::CUDA_R_32F ? 4 : 2;
    return static_cast<double>(p.batches * rows * columns * size);
  };
  const int results = 1 + (p.has_onto ? 1 : 0) + (p.keeps_pre || p.slope ? 1 : 0);
  return matrix(p.m, p.k, p.type) + matrix(p.k, p.n, p.type) + results * matrix(p.m, p.n, p.result);
}

// Counts the bytes of a node's launches.
class LaunchBytes {
  using Of = cuda::LaunchArgument::Of;

 public:
  static double of(const NodeView& n, const cuda::Launches& all) {
    // An op knows what its only kernel reads, and updates read each tensor once.
    bool by_node = all.launches.size() == 1;
    for (const cuda::Launch& l : all.launches)
      for (const cuda::LaunchArgument& a : l.arguments) by_node |= !a.addresses.empty();
    return by_node ? cost_of(n).bytes : LaunchBytes(n, all).total_;
  }

 private:
  LaunchBytes(const NodeView& n, const cuda::Launches& all) : n_(n) {
    parts_.insert(all.workspace_bytes);
    for (const cuda::Launch& l : all.launches)
      for (const cuda::LaunchArgument& a : l.arguments)
        if (a.of == Of::workspace) parts_.insert(a.offset);
    for (const cuda::Launch& l : all.launches) l.library ? add_product(l) : add(l);
    for (const size_t k : written_)
      if (!made_.contains(k)) total_ += static_cast<double>(n.out(k).bytes());
  }
  void add_product(const cuda::Launch& l) {
    total_ += bytes_of_product(*l.library);
    for (const cuda::LaunchArgument& a : l.arguments)
      if (a.of == Of::output) made_.insert(a.index);
  }
  void add(const cuda::Launch& l) {
    if (l.only_apart) return;
    std::set<size_t> read;
    for (const cuda::LaunchArgument& a : l.arguments) {
      if (a.of == Of::input && read.insert(a.index).second && n_.has(a.index))
        total_ += static_cast<double>(n_.in(a.index).bytes());
      if (a.of == Of::output) written_.insert(a.index);
      if (a.of == Of::output && made_.contains(a.index))  // read, or written again
        total_ += static_cast<double>(n_.out(a.index).bytes());
      if (a.of == Of::workspace)
        total_ += static_cast<double>(*parts_.upper_bound(a.offset) - a.offset);
    }
  }

  const NodeView& n_;
  std::set<int64_t> parts_;   // where parts of the workspace begin, and its end
  std::set<size_t> made_;     // results of products
  std::set<size_t> written_;  // results of kernels, each of which may write a part
  double total_ = 0;
};

void count_node(const NodeView& n, const cuda::LaunchTable& table, int64_t library_bytes,
                StepCounts& counts) {
  OpCounts& of = counts.by_op[n.node.op->name];
  of.bytes += cost_of(n).bytes;
  if (!has_kernel(n)) return;
  const cuda::Launches all = cuda::launches_of(table, n).value();
  int64_t workspace = all.workspace_bytes;
  bool by_library = false;
  for (const cuda::Launch& l : all.launches) {
    ++of.kernels;
    by_library |= l.library.has_value();
    counts.casts += casts_activation(n, l) ? 1 : 0;
  }
  of.by_launch += LaunchBytes::of(n, all);
  if (by_library) workspace -= library_bytes;
  of.bytes += 2.0 * static_cast<double>(std::max<int64_t>(workspace, 0));
}

// A folder with this config.json alone, which ends with the object.
class ConfigFolder {
 public:
  explicit ConfigFolder(const std::string& config) {
    std::filesystem::create_directories(path_);
    std::ofstream(path_ / "config.json") << config;
  }
  ~ConfigFolder() { std::filesystem::remove_all(path_); }
  Pretrained open() const {
    OpenOptions o;
    o.need_weights = o.need_tokenizer = false;
    return open_pretrained(path_.string(), o).value();
  }

 private:
  const std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / fmt::format("gpu_step.{}", getpid());
};

StepCounts counts_of(const Session& session, const Program& p, const DeviceSpec& spec) {
  StepCounts counts;
  counts.arena = session.plan().arena_bytes(Space::device);
  const cuda::LaunchTable table = cuda::launch_table(cuda::launch_options(spec));
  for (const Node& n : p.nodes) count_node({p, n}, table, spec.workspace_bytes, counts);
  for (const auto& [op, of] : counts.by_op) {
    counts.kernels += of.kernels;
    counts.bytes += of.bytes;
    counts.by_launch += of.by_launch;
  }
  return counts;
}

// The programs of a model with this config.json, planned for an H200: `rows` rows of `size` on each axis.
void with_model(const std::string& task_name, const std::string& config, int64_t rows, int64_t size,
                bool accumulate, const std::function<void(TaskSettings&)>& set,
                const std::function<void(const Session&, const DeviceSpec&)>& look) {
  const ConfigFolder folder(config);
  const Task task = task_named(task_name);
  set(*task.settings);
  Pretrained model = folder.open();
  EXPECT_TRUE(task.choose_head(model.config).ok());
  const DeviceSpec spec = device_spec("h200").value();
  const TaskModel m = TaskModel::make(task, model, spec).value();
  RunShapes shapes;
  shapes.accumulate = accumulate;
  BatchShape shape;
  for (const RowLimit& limit : m.form.limits) shape.axes.push_back({limit.axis, rows * size});
  shapes.train = {{shape.with(kSequences, rows)}, rows};
  const std::unique_ptr<Backend> gpu = plan_backend(spec).value();
  look(Session::compile(run_programs(m, shapes).value(), *gpu).value(), spec);
}

struct Gpt2Size {
  int64_t layers, channels, heads;
  double dropout = 0;
};

// The programs of such a GPT-2 over 8 rows of 1,024 tokens.
void with_gpt2(const Gpt2Size& size, bool accumulate, const std::function<void(TaskSettings&)>& set,
               const std::function<void(const Session&, const DeviceSpec&)>& look) {
  with_model(
      "clm",
      fmt::format(
          R"({{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": {}, "n_embd": {},
          "n_head": {}, "n_positions": 1024, "n_ctx": 1024, "vocab_size": 50257,
          "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "resid_pdrop": {},
          "embd_pdrop": {}, "attn_pdrop": {}, "initializer_range": 0.02}})",
          size.layers, size.channels, size.heads, size.dropout, size.dropout, size.dropout),
      kRows, kRowTokens, accumulate, set, look);
}

StepCounts counts_of_step(const Gpt2Size& size) {
  StepCounts counts;
  with_gpt2(
      size, false, [](TaskSettings& s) { s.bf16 = true; },
      [&](const Session& session, const DeviceSpec& spec) {
        counts = counts_of(session, session.programs()[0], spec);
      });
  return counts;
}

void expect_at_most(const StepCounts& counts, const StepCounts& most) {
  SCOPED_TRACE(counts_by_op(counts));
  EXPECT_LE(counts.kernels, most.kernels);
  EXPECT_LE(counts.casts, most.casts);
  EXPECT_LE(counts.bytes, most.bytes);
  EXPECT_LE(counts.by_launch, most.by_launch);
  EXPECT_LE(counts.arena, most.arena);
}

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(GpuStep, Gpt2) {
  expect_at_most(
      counts_of_step({12, 768, 12}),
      {.kernels = 445, .casts = 0, .bytes = 19.53e9, .by_launch = 25.9e9, .arena = 3'356 * kMiB});
}

TEST(GpuStep, Gpt2Xl) {
  expect_at_most(counts_of_step({48, 1600, 25}), {.kernels = 1642,
                                                  .casts = 0,
                                                  .bytes = 172.0e9,
                                                  .by_launch = 188.6e9,
                                                  .arena = 30'634 * kMiB});
}

TEST(GpuStep, Gpt2WithDropout) {
  expect_at_most(
      counts_of_step({12, 768, 12, 0.1}),
      {.kernels = 519, .casts = 0, .bytes = 21.42e9, .by_launch = 27.8e9, .arena = 3'356 * kMiB});
}

constexpr int64_t kStepImages = 32;

// A step of 32 images of 224 x 224 pixels in bf16.
StepCounts counts_of_images(const std::string& config) {
  StepCounts counts;
  with_model(
      "image_classification", config, kStepImages, 1, false, [](TaskSettings& s) { s.bf16 = true; },
      [&](const Session& session, const DeviceSpec& spec) {
        counts = counts_of(session, session.programs()[0], spec);
      });
  return counts;
}

TEST(GpuStep, ResNet50) {
  expect_at_most(
      counts_of_images(R"({"model_type": "resnet", "num_labels": 1000,
      "architectures": ["ResNetForImageClassification"]})"),
      {.kernels = 1334, .casts = 0, .bytes = 13.8e9, .by_launch = 17.0e9, .arena = 1'238 * kMiB});
}

TEST(GpuStep, ConvNextTiny) {
  expect_at_most(
      counts_of_images(R"({"model_type": "convnext", "num_labels": 1000,
      "architectures": ["ConvNextForImageClassification"]})"),
      {.kernels = 841, .casts = 0, .bytes = 18.6e9, .by_launch = 19.3e9, .arena = 1'172 * kMiB});
}

// The first micro-batch and those that add to its gradients sum biases in the same way.
TEST(GpuStep, MicroBatchesSumBiasesAlike) {
  with_gpt2(
      {12, 768, 12}, true, [](TaskSettings& s) { s.bf16 = true; },
      [](const Session& session, const DeviceSpec&) {
        EXPECT_EQ(session.programs().size(), 3u) << "the first micro-batch, the others, the update";
        for (const Program& p : session.programs())
          for (const Node& n : p.nodes) EXPECT_NE(n.op->name, "linear_activation_grad") << p.name;
      });
}

}  // namespace
}  // namespace hone
