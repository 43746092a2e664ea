#include "learn/embed/embedder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/passes/pipelines.h"
#include "learn/generate/errors.h"
#include "learn/harness/collate.h"
#include "learn/harness/token_graph.h"
#include "learn/models/embed_texts.h"

namespace hone {
namespace {

// Inputs of token_graph.h without labels, and segments i32[T] (-1: none); output embeddings [S,E].
Result<Program> embed_program(const ModelConfig& config, const EmbedLimits& limits, int64_t tokens,
                              const std::string& name) {
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph g(b, config, ModelGraph::Mode::eval);
  add_token_inputs(g, {{{kTokens, tokens}, {kSequences, limits.texts}}});
  const ValueId segments = p.add_input("segments", {DType::i32, {tokens}});
  add_model_states(g, false);
  p.outputs.push_back({"embeddings", embed_texts(g, segments)});
  HONE_TRY(run_passes(p, forward_pipeline(limits.weights), {}));
  return p;
}

}  // namespace

Result<std::unique_ptr<TextEmbedder>> TextEmbedder::make(const Pretrained& model,
                                                         const Backend& backend,
                                                         const EmbedLimits& limits) {
  std::unique_ptr<TextEmbedder> e(new TextEmbedder(model));
  e->width_ = model.config.embedding->width(model.config.hidden);
  e->longest_ = model.config.embedding->longest;
  e->limits_ = limits;
  e->limits_.tokens = std::max(limits.tokens, e->longest_);
  std::vector<Program> programs;
  std::vector<int64_t> sizes;
  for (int64_t t = 64;; t *= 2) {
    sizes.push_back(std::min(t, e->limits_.tokens));
    programs.push_back(HONE_TRY(embed_program(model.config, e->limits_, sizes.back(),
                                              fmt::format("embed_{}", sizes.back()))));
    if (t >= e->limits_.tokens) break;
  }
  e->session_ = HONE_TRY(Session::compile(std::move(programs), backend));
  HONE_TRY(e->session_->allocate());
  HONE_TRY(load_weights(*e->session_, model));
  for (size_t i = 0; i < sizes.size(); ++i)
    e->bound_.push_back({i, sizes[i], inputs_of(*e->session_, i), outputs_of(*e->session_, i)});
  return e;
}

const TextEmbedder::Bound& TextEmbedder::bound_for(int64_t tokens) const {
  const Bound* b = bound_.data();
  while (b->tokens < tokens) ++b;
  return *b;
}

Status TextEmbedder::embed(std::span<const std::vector<int32_t>> rows, std::span<float> out,
                           const std::function<void(int64_t done)>& progress) {
  for (const std::vector<int32_t>& row : rows) {
    HONE_TRY(check_ids(row, config_.vocab));
    HONE_BUG_IF(row.empty() || std::ssize(row) > limits_.tokens, "a text of {} tokens", row.size());
  }
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rows[a].size() > rows[b].size(); });
  for (size_t at = 0; at < order.size();) {
    size_t end = at;
    int64_t tokens = 0;
    while (end < order.size() && end - at < static_cast<size_t>(limits_.texts) &&
           tokens + std::ssize(rows[order[end]]) <= limits_.tokens)
      tokens += std::ssize(rows[order[end++]]);
    HONE_TRY(run(rows, std::span(order).subspan(at, end - at), out));
    at = end;
    if (progress) progress(static_cast<int64_t>(at));
  }
  return Ok{};
}

Status TextEmbedder::run(std::span<const std::vector<int32_t>> rows, std::span<const size_t> chosen,
                         std::span<float> out) {
  int64_t tokens = 0;
  for (const size_t i : chosen) tokens += std::ssize(rows[i]);
  const Bound& b = bound_for(tokens);
  const auto ids = b.inputs.get<int32_t>("ids"), positions = b.inputs.get<int32_t>("positions"),
             cu = b.inputs.get<int32_t>("cu_seqlens"), segments = b.inputs.get<int32_t>("segments");
  size_t at = 0, s = 0;
  cu[0] = 0;
  for (const size_t i : chosen) {
    for (size_t k = 0; k < rows[i].size(); ++k, ++at) {
      ids[at] = rows[i][k];
      positions[at] = static_cast<int32_t>(k);
      segments[at] = static_cast<int32_t>(s);
    }
    cu[++s] = static_cast<int32_t>(at);
  }
  const auto end = static_cast<std::ptrdiff_t>(at);
  std::fill(ids.begin() + end, ids.end(), 0);
  std::fill(positions.begin() + end, positions.end(), 0);
  std::fill(segments.begin() + end, segments.end(), -1);
  std::fill(cu.begin() + static_cast<std::ptrdiff_t>(s) + 1, cu.end(), static_cast<int32_t>(at));
  count_positions(config_, ids, positions);
  session_->run(b.program);
  HONE_TRY(session_->check());
  const auto all = b.outputs.get<const float>("embeddings");
  const auto width = static_cast<size_t>(width_);
  for (size_t q = 0; q < chosen.size(); ++q) {
    const auto own = all.subspan(q * width, width);
    if (!std::all_of(own.begin(), own.end(), [](float x) { return std::isfinite(x); }))
      return Error(err::kLogitsNotFinite,
                   fmt::format("the embedding of text {} is not finite", chosen[q] + 1))
          .todo(
              "the activations overflow, as after a training that diverged: take an earlier "
              "checkpoint");
    std::copy(own.begin(), own.end(), out.begin() + static_cast<std::ptrdiff_t>(chosen[q] * width));
  }
  return Ok{};
}

}  // namespace hone
