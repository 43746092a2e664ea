#include "learn/generate/programs.h"

#include "engine/passes/pipelines.h"

namespace hone {
namespace {

Program build_encoding_program(const ModelConfig& config, const CachedShape& shape,
                               const std::string& name) {
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph g(b, config, ModelGraph::Mode::eval);
  g.cache_page = shape.page;
  g.cross_pages = shape.source_pages;
  g.encoder_ids = p.add_input("encoder_ids", {DType::i32, {shape.tokens}});
  g.encoder_positions = p.add_input("encoder_positions", {DType::i32, {shape.tokens}});
  g.encoder_cu_seqlens = p.add_input("encoder_cu_seqlens", {DType::i32, {shape.sequences + 1}});
  g.cross_slots = p.add_input("cross_slots", {DType::i32, {shape.tokens}});
  add_model_states(g, false);
  const Family& family = family_of(config);
  g.encode(family.encoder);
  g.cache_cross_keys(family.cross_keys);
  return p;
}

}  // namespace

Program build_cached_program(const ModelConfig& config, const CachedShape& shape,
                             const std::string& name) {
  if (shape.encodes) return build_encoding_program(config, shape, name);
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph g(b, config, ModelGraph::Mode::cached);
  g.cache_pages = shape.pages;
  g.cache_page = shape.page;
  auto input = [&](const char* which, Shape s) {
    return p.add_input(which, {DType::i32, std::move(s)});
  };
  g.ids = input("ids", {shape.tokens});
  g.positions = input("positions", {shape.tokens});
  g.cu_seqlens = input("cu_seqlens", {shape.sequences + 1});
  g.cu_cache = input("cu_cache", {shape.sequences + 1});
  g.block_table = input("block_table", {shape.sequences, shape.blocks});
  g.slots = input("slots", {shape.tokens});
  if (shape.source_pages > 0) {
    g.cross_pages = shape.source_pages;
    g.cu_cross = input("cu_cross", {shape.sequences + 1});
    g.cross_table = input("cross_table", {shape.sequences, shape.source_blocks});
  }
  const Family& family = family_of(config);
  if (family.carries_states) {
    g.state_rows = shape.state_rows;
    g.state_from = input("state_from", {shape.sequences});
    g.state_to = input("state_to", {shape.sequences});
  }
  ValueId rows = input("rows", {shape.sequences});
  add_model_states(g, false);
  ValueId x = family.body(g);  // [T,C]
  Builder::Scope head(b, "head");
  x = ops::gather_rows(b, x, rows);                                  // [S,C]
  p.outputs.push_back({"logits", logits_of(b, family.head(g, x))});  // [S,V]
  return p;
}

std::vector<CachedShape> cached_shapes(const CacheLimits& limits) {
  constexpr int64_t kLeast = 16, kMost = 512;
  std::vector<CachedShape> shapes;
  auto add = [&](int64_t tokens, int64_t sequences) {
    shapes.push_back({tokens, sequences, limits.pages(), limits.page, limits.blocks(),
                      limits.source_pages(), limits.source_blocks()});
    shapes.back().state_rows = limits.rows;
  };
  for (int64_t n = 1; n < limits.rows; n *= 2) add(n, n);
  add(limits.rows, limits.rows);
  if (limits.longest_source > 0) {
    constexpr int64_t kMostEncoded = 1024;
    const int64_t most = std::max(limits.longest_source,
                                  std::min(kMostEncoded, limits.sources * limits.longest_source));
    for (int64_t t = kLeast;; t *= 2) {
      add(std::min(t, most), limits.sources);
      shapes.back().encodes = true;
      if (t >= most) return shapes;
    }
  }
  const int64_t needed = std::min(kMost, limits.rows * std::max<int64_t>(limits.longest_prompt, 1));
  for (int64_t t = kLeast; shapes.back().tokens < needed; t *= 2)
    if (t > limits.rows) add(std::min(t, kMost), limits.rows);
  return shapes;
}

std::string cached_name(const CachedShape& s) {
  if (s.encodes) return fmt::format("encode_{}", s.tokens);
  return fmt::format("{}_{}", s.tokens == s.sequences ? "decode" : "prefill", s.tokens);
}

Result<std::vector<Program>> build_cached_programs(const ModelConfig& config,
                                                   const CacheLimits& limits) {
  std::vector<Program> programs;
  for (const CachedShape& s : cached_shapes(limits)) {
    programs.push_back(build_cached_program(config, s, cached_name(s)));
    HONE_TRY(run_passes(programs.back(), forward_pipeline(limits.weights), {}));
  }
  store_alike(programs);
  return programs;
}

}  // namespace hone
