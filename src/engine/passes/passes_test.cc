// Runs tests/passes/*.hir: programs with CHECK lines beside the lines they speak of.
//
//   // RUN: fuse_forward, simplify     passes in order
//   // CHECK: linear(...) {...act="gelu"   a later line of the result has this; '...' is any text
//   // CHECK-NOT: gelu(                    no line of the result has this
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "engine/graph/text.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"
#include "engine/passes/compute_copies.h"
#include "engine/passes/differentiate.h"
#include "engine/passes/fuse.h"
#include "engine/passes/fuse_slopes.h"
#include "engine/passes/fuse_sums.h"
#include "engine/passes/narrow_weights.h"
#include "engine/passes/offload.h"
#include "engine/passes/pass.h"
#include "engine/passes/pipelines.h"
#include "engine/passes/precision.h"
#include "engine/passes/recompute.h"
#include "engine/passes/remake.h"
#include "engine/passes/round_sums.h"
#include "engine/passes/schedule.h"
#include "engine/passes/shard.h"
#include "engine/passes/simplify.h"
#include "engine/passes/store_activations.h"
#include "engine/passes/store_weights.h"
#include "engine/passes/sync_batch_norms.h"
#include "engine/passes/tensor_split.h"

namespace hone {
namespace {

const std::map<std::string, Pass>& passes_by_name() {
  static const std::map<std::string, Pass> passes{
      {"simplify", {"simplify", PassKind::numeric, simplify}},
      {"schedule", {"schedule", PassKind::placement, schedule}},
      {"tensor_split",
       {"tensor_split", PassKind::numeric,
        [](Program& p) -> Result<bool> {
          return tensor_split(p, HONE_TRY(find_tensor_split(p, {1, 2}, 2)));
        }}},
      {"divide_rows",
       {"divide_rows", PassKind::numeric,
        [](Program& p) {
          return divide_rows(p, {.share = {1, 2}, .first = 2});
        }}},
      {"drop_sum_gradients", {"drop_sum_gradients", PassKind::numeric, drop_sum_gradients}},
      {"shard",
       {"shard", PassKind::placement,
        [](Program& p) {
          return shard(p, {.share = {1, 2}});
        }}},
      {"sync_batch_norms",
       {"sync_batch_norms", PassKind::numeric,
        [](Program& p) {
          return sync_batch_norms(p, {1, 2});
        }}},
      {"recompute_blocks",
       {"recompute_blocks", PassKind::placement,
        [](Program& p) { return recompute(p, {.blocks = true}); }}},
      {"recompute_some",
       {"recompute_some", PassKind::placement,
        [](Program& p) { return recompute(p, {.share = 0.7}); }}},
      {"offload_disk",
       {"offload_disk", PassKind::placement,
        [](Program& p) { return offload(p, {.moments = Space::disk}); }}},
      {"update_on_host",
       {"update_on_host", PassKind::placement,
        [](Program& p) {
          return offload(p, {.moments = Space::host, .host_lane = HostLane::apart});
        }}},
      {"update_in_place",
       {"update_in_place", PassKind::placement,
        [](Program& p) {
          return offload(p, {.moments = Space::host, .host_lane = HostLane::one_place});
        }}},
      {"update_in_place_of_weights_on_disk",
       {"update_in_place_of_weights_on_disk", PassKind::placement,
        [](Program& p) {
          return offload(p, {.moments = Space::host,
                             .params = Space::disk,
                             .least_elements = 0,
                             .host_lane = HostLane::one_place});
        }}},
      {"update_all_on_host",
       {"update_all_on_host", PassKind::placement,
        [](Program& p) {
          return offload(p, {.moments = Space::host,
                             .params = Space::host,
                             .gradients = Space::host,
                             .activations = Space::host,
                             .least_elements = 0,
                             .host_lane = HostLane::apart});
        }}},
      {"update_masters_on_host",
       {"update_masters_on_host", PassKind::placement,
        [](Program& p) {
          return offload(p, {.moments = Space::host,
                             .masters = Space::host,
                             .least_elements = 0,
                             .host_lane = HostLane::apart});
        }}},
      {"offload_all",
       {"offload_all", PassKind::placement,
        [](Program& p) {
          return offload(p, {.moments = Space::disk,
                             .params = Space::disk,
                             .gradients = Space::disk,
                             .activations = Space::disk,
                             .least_elements = 0});
        }}},
      {"fuse_forward",
       {"fuse_forward", PassKind::numeric, [](Program& p) { return fuse_forward(p); }}},
      {"fuse_accumulate",
       {"fuse_accumulate", PassKind::numeric, [](Program& p) { return fuse_accumulate(p); }}},
      {"precision_bf16",
       {"precision_bf16", PassKind::numeric,
        [](Program& p) { return set_precision(p, Precision::bf16); }}},
      {"store_activations_bf16",
       {"store_activations_bf16", PassKind::numeric,
        [](Program& p) { return store_activations(p, DType::bf16); }}},
      {"narrow_values_bf16",
       {"narrow_values_bf16", PassKind::numeric,
        [](Program& p) { return narrow_values(p, DType::bf16); }}},
      {"remake", {"remake", PassKind::numeric, remake}},
      {"round_sums", {"round_sums", PassKind::numeric, round_sums}},
      {"fuse_sums", {"fuse_sums", PassKind::numeric, fuse_sums}},
      {"fuse_slopes", {"fuse_slopes", PassKind::numeric, fuse_slopes}},
      {"store_activations_stream",
       {"store_activations_stream", PassKind::numeric,
        [](Program& p) { return store_activations(p, DType::bf16); }}},
      {"compute_copies_halves",
       {"compute_copies_halves", PassKind::numeric,
        [](Program& p) { return compute_copies(p, {"w"}, DType::bf16, Copies::halves); }}},
      {"compute_copies_bf16",
       {"compute_copies_bf16", PassKind::numeric,
        [](Program& p) { return compute_copies(p, {"w"}, DType::bf16); }}},
      {"narrow_weights",
       {"narrow_weights", PassKind::numeric,
        [](Program& p) {
          return narrow_weights(p, {"w", "gamma", "other"});
        }}},
      {"differentiate_narrow",
       {"differentiate_narrow", PassKind::numeric,
        [](Program& p) {
          return differentiate(p, Gradients::values, DType::bf16, {"w", "gamma"});
        }}},
      {"store_weights_i8",
       {"store_weights_i8", PassKind::numeric,
        [](Program& p) { return store_weights(p, WeightStorage::i8); }}},
      {"differentiate",
       {"differentiate", PassKind::numeric,
        [](Program& p) { return differentiate(p, Gradients::states); }}},
      {"differentiate_values",
       {"differentiate_values", PassKind::numeric,
        [](Program& p) { return differentiate(p, Gradients::values); }}},
      {"differentiate_bf16",
       {"differentiate_bf16", PassKind::numeric,
        [](Program& p) { return differentiate(p, Gradients::values, DType::bf16); }}},
      {"differentiate_add_bf16",
       {"differentiate_add_bf16", PassKind::numeric,
        [](Program& p) { return differentiate(p, Gradients::sums, DType::bf16); }}},
      {"differentiate_add",
       {"differentiate_add", PassKind::numeric,
        [](Program& p) { return differentiate(p, Gradients::sums); }}},
  };
  return passes;
}

// Whether the line has the parts of the pattern one after another.
bool has(const std::string& line, const std::string& pattern) {
  size_t at = 0;
  for (size_t begin = 0; begin <= pattern.size();) {
    const size_t end = std::min(pattern.find("...", begin), pattern.size());
    const std::string part = pattern.substr(begin, end - begin);
    at = line.find(part, at);
    if (at == std::string::npos) return false;
    at += part.size();
    begin = end + 3;
  }
  return true;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string after(const std::string& line, const std::string& mark) {
  const size_t at = line.find(mark);
  return at == std::string::npos ? "" : line.substr(at + mark.size());
}

void check_file(const std::string& path) {
  SCOPED_TRACE(path);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::vector<Pass> passes;
  for (const std::string& line : lines_of(text.str())) {
    std::istringstream names(after(line, "// RUN: "));
    for (std::string name; std::getline(names, name, ',');) {
      name.erase(0, name.find_first_not_of(' '));
      ASSERT_TRUE(passes_by_name().contains(name)) << name;
      passes.push_back(passes_by_name().at(name));
    }
  }
  ASSERT_FALSE(passes.empty());
  Result<Program> p = parse_program(text.str(), op_table(), path);
  ASSERT_TRUE(p.ok()) << p.error().text();
  auto done = run_passes(*p, passes, {});
  ASSERT_TRUE(done.ok()) << done.error().text();
  const std::string result = print(*p);
  const std::vector<std::string> lines = lines_of(result);
  size_t at = 0;
  for (const std::string& line : lines_of(text.str())) {
    if (const std::string want = after(line, "// CHECK: "); !want.empty()) {
      while (at < lines.size() && !has(lines[at], want)) ++at;
      ASSERT_LT(at, lines.size()) << "no line has: " << want << "\n" << result;
      ++at;
    }
    if (const std::string never = after(line, "// CHECK-NOT: "); !never.empty()) {
      for (const std::string& l : lines) EXPECT_FALSE(has(l, never)) << l << "\n" << result;
    }
  }
}

TEST(Passes, Files) {
  int files = 0;
  for (const auto& e : std::filesystem::directory_iterator(HONE_SOURCE_DIR "/tests/passes")) {
    if (e.path().extension() != ".hir") continue;
    check_file(e.path().string());
    ++files;
  }
  EXPECT_GE(files, 8);
}

Program small() {
  return parse_program("input \"x\" %0 : f32[8]\n  %1 : f32[8] = exp(%0)\noutput \"y\" = %1\n",
                       op_table())
      .value();
}

// Each node is looked at once by a rule, and once more where the rule applied.
TEST(Passes, FuseLooksAtEachNodeAFewTimes) {
  Program p(op_table());
  Builder b(p);
  State weight;
  weight.name = "w";
  weight.trainable = true;
  const ValueId w = p.add_state(std::move(weight), {DType::f32, {8, 8}});
  ValueId x = p.add_input("x", {DType::f32, {4, 8}});
  constexpr int kLayers = 300;
  for (int i = 0; i < kLayers; ++i)
    x = ops::add(b, ops::linear(b, ops::gelu(b, ops::linear(b, x, w)), w), x);
  p.outputs.push_back({"loss", ops::reduce_sum(b, x, {0, 1})});
  const auto nodes = static_cast<int64_t>(p.nodes.size());
  int64_t looked_at = 0;
  EXPECT_TRUE(fuse_forward(p, &looked_at).value());
  EXPECT_EQ(static_cast<int64_t>(p.nodes.size()), nodes - 2 * kLayers);
  EXPECT_LE(looked_at, 4 * nodes);
  ASSERT_TRUE(differentiate(p, Gradients::sums).value());
  const auto all = static_cast<int64_t>(p.nodes.size());
  looked_at = 0;
  EXPECT_TRUE(fuse_accumulate(p, &looked_at).value());
  EXPECT_LE(looked_at, 3 * all);
  p.compact();
  EXPECT_TRUE(verify(p).ok());
}

// The head makes its gradients in the forward visit, where nobody reads them yet.
TEST(Passes, TheHeadKeepsItsGradientsUntilTheyAreRead) {
  Program p(op_table());
  Builder b(p);
  State weight;
  weight.name = "w";
  weight.trainable = true;
  const ValueId w = p.add_state(std::move(weight), {DType::f32, {9, 8}});
  const ValueId x = p.add_input("x", {DType::f32, {4, 8}});
  const ValueId labels = p.add_input("labels", {DType::i32, {4}});
  const ValueId scale = p.add_input("scale", {DType::f32, {}});
  p.outputs.push_back({"loss", ops::linear_cross_entropy(b, x, w, labels, scale, true).loss});
  ASSERT_TRUE(run_passes(p, train_pipeline(false), {}).ok());
  ASSERT_EQ(p.nodes.size(), 1u);
  EXPECT_TRUE(p.nodes[0].attrs.flag("dw"));
  EXPECT_FALSE(p.nodes[0].attrs.flag("dx"));  // x has no gradient
}

TEST(Passes, ProgramsOfARunStoreStatesAlike) {
  // The decoder multiplies by the tied embeddings and by "fc"; the encoder reads the first as a
  // table, the second not at all, and adds "b".
  std::vector<Program> programs;
  for (const bool decodes : {true, false}) {
    Program& p = programs.emplace_back(op_table());
    Builder b(p);
    const auto param = [&](const char* name, Type type) {
      State s;
      s.name = name;
      return p.add_state(std::move(s), std::move(type));
    };
    const ValueId wte = param("wte", {DType::f32, {9, 8}});
    const ValueId fc = param("fc", {DType::f32, {8, 8}});
    const ValueId other = param("b", {DType::f32, {3, 8}});
    const ValueId x = ops::embedding(b, wte, p.add_input("ids", {DType::i32, {3}}));
    const ValueId y = decodes ? ops::linear(b, ops::linear(b, x, fc), wte, {.trans_w = true})
                              : ops::add(b, x, other);
    p.outputs.push_back({"y", y});
  }
  for (const WeightStorage as : {WeightStorage::bf16, WeightStorage::i8}) {
    std::vector<Program> run = programs;
    for (Program& p : run) ASSERT_TRUE(run_passes(p, forward_pipeline(as), {}).ok());
    store_alike(run);
    const DType want = as == WeightStorage::i8 ? DType::i8 : DType::bf16;
    for (const Program& p : run) {
      EXPECT_TRUE(verify(p).ok());
      for (const State& s : p.states)
        if (s.name == "wte" || s.name == "fc")
          EXPECT_EQ(p.type(s.value).dtype, want) << s.name;
        else
          EXPECT_EQ(p.type(s.value).dtype, DType::f32) << s.name;
    }
    const auto scales = std::count_if(run[1].states.begin(), run[1].states.end(),
                                      [](const State& s) { return s.name == "wte.row_scales"; });
    EXPECT_EQ(scales, as == WeightStorage::i8 ? 1 : 0);
  }
}

TEST(Passes, APassThatIsOffDoesNotRun) {
  Program p = small();
  const std::vector<Pass> passes{{"break", PassKind::numeric, [](Program&) -> Result<bool> {
                                    throw std::runtime_error("ran");
                                  }}};
  PassOptions options;
  options.off = {"break"};
  EXPECT_EQ(run_passes(p, passes, options).value().size(), 0u);
}

TEST(Passes, APassThatLiesIsABug) {
  Program p = small();
  const std::vector<Pass> passes{{"liar", PassKind::numeric, [](Program& q) -> Result<bool> {
                                    q.outputs[0].name = "z";
                                    return false;
                                  }}};
  EXPECT_THROW((void)run_passes(p, passes, {}), Bug);
}

TEST(Passes, AProgramThatAPassBreaksIsABug) {
  Program p = small();
  const std::vector<Pass> passes{{"breaker", PassKind::numeric, [](Program& q) -> Result<bool> {
                                    q.nodes[0].attrs.set("shape", std::vector<int64_t>{1});
                                    q.values[1].type.shape = {9};
                                    return true;
                                  }}};
  EXPECT_THROW((void)run_passes(p, passes, {}), Bug);
  p = small();
  EXPECT_THROW((void)run_passes(p, passes, {.checks = PassChecks::last}), Bug);
}

TEST(Passes, APlacementPassThatChangesNumbersIsABug) {
  const std::vector<Pass> passes{
      {"first", PassKind::placement, [](Program&) { return Result(false); }},
      {"mover", PassKind::placement, [](Program& q) -> Result<bool> {
         q.outputs[0].name = "z";
         return true;
       }}};
  for (const PassChecks checks : {PassChecks::each, PassChecks::last}) {
    Program p = small();
    EXPECT_THROW((void)run_passes(p, passes, {.checks = checks}), Bug);
  }
}

TEST(Passes, ProgramsAreTheSameWithFewerChecks) {
  Program each = parse_program(
                     "input \"x\" %0 : f32[8]\n  %1 : f32[8] = exp(%0)\n  %2 : f32[8] = exp(%0)\n"
                     "  %3 : f32[8] = add(%1, %2)\noutput \"y\" = %3\n",
                     op_table())
                     .value();
  Program last = each;
  const auto one = run_passes(each, forward_pipeline(), {}).value();
  const auto other = run_passes(last, forward_pipeline(), {.checks = PassChecks::last}).value();
  EXPECT_EQ(each.nodes.size(), 2u);
  EXPECT_EQ(print(each), print(last));
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].changed, other[i].changed);
}

TEST(Passes, RecordsSayWhatChanged) {
  Program p = small();
  int dumps = 0;
  PassOptions options;
  options.dump = [&](const std::string&, const Program&) { ++dumps; };
  const std::vector<PassRecord> records = run_passes(p, forward_pipeline(), options).value();
  EXPECT_EQ(records.size(), forward_pipeline().size());
  for (const PassRecord& r : records) EXPECT_FALSE(r.changed) << r.name;
  EXPECT_EQ(dumps, 0);
}

}  // namespace
}  // namespace hone
