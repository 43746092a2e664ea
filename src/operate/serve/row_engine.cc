#include "operate/serve/row_engine.h"

#include "engine/passes/pipelines.h"
#include "learn/data/batches/batch.h"
#include "learn/generate/errors.h"
#include "learn/harness/collate.h"
#include "learn/harness/token_graph.h"
#include "learn/models/embed_texts.h"
#include "operate/serve/errors.h"

namespace hone {
namespace {

// Inputs of token_graph.h without labels; token_types i32[T] for models with token types;
// label_rows i32[S] (-1: none) for masked language models; segments i32[T] (-1: none) for embeddings. Output logits:
// [S, labels], [T, labels] of tokens, [S, V], or the embeddings [S, E].
Result<Program> row_program(const ModelConfig& config, const RowLimits& limits, int64_t tokens,
                            const std::string& name) {
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph g(b, config, ModelGraph::Mode::eval);
  add_token_inputs(g, {{{kTokens, tokens}, {kSequences, limits.rows}}});
  if (has_token_types(config)) g.token_types = p.add_input("token_types", {DType::i32, {tokens}});
  if (config.head == Head::masked_lm)
    g.label_rows = p.add_input("label_rows", {DType::i32, {limits.rows}});
  add_model_states(g, false);
  if (config.embedding) {
    p.outputs.push_back(
        {"logits", embed_texts(g, p.add_input("segments", {DType::i32, {tokens}}))});
    HONE_TRY(run_passes(p, forward_pipeline(limits.weights), {}));
    return p;
  }
  const HeadLayer layer = model_head(g);
  {
    Builder::Scope head(b, "head");
    p.outputs.push_back({"logits", logits_of(b, layer)});
  }
  HONE_TRY(run_passes(p, forward_pipeline(limits.weights), {}));
  return p;
}

}  // namespace

Result<std::unique_ptr<RowEngine>> RowEngine::make(const Pretrained& model, const RowLimits& limits,
                                                   const Backend& backend,
                                                   const EngineOptions& options) {
  std::unique_ptr<RowEngine> e(new RowEngine(options));
  e->limits_ = limits;
  e->config_ = model.config;
  std::vector<Program> programs;
  std::vector<int64_t> sizes;
  for (int64_t t = 16;; t *= 2) {
    sizes.push_back(std::min(t, limits.tokens));
    programs.push_back(HONE_TRY(
        row_program(model.config, limits, sizes.back(), fmt::format("rows_{}", sizes.back()))));
    if (t >= limits.tokens) break;
  }
  e->session_ = HONE_TRY(Session::compile(std::move(programs), backend));
  HONE_TRY(e->session_->allocate());
  HONE_TRY(load_weights(*e->session_, model));
  for (size_t i = 0; i < sizes.size(); ++i)
    e->bound_.push_back({i, sizes[i], inputs_of(*e->session_, i), outputs_of(*e->session_, i)});
  e->load_.rows = limits.rows;
  e->queue_.tell(e->load_);
  e->start();
  return e;
}

Result<uint64_t> RowEngine::submit(RowJob job) {
  const auto n = static_cast<int64_t>(job.ids.size());
  if (n == 0) return Error(err::kBadPrompt, "the text has no tokens").todo("give it some text");
  if (n > limits_.tokens)
    return Error(err::kPromptTooLong,
                 fmt::format("the text has {} tokens, the server takes {}", n, limits_.tokens))
        .todo("shorten the text");
  if (static_cast<int64_t>(job.places.size()) > limits_.rows)
    return Error(err::kServeTooLarge, fmt::format("the text has {} masks, the server takes {}",
                                                  job.places.size(), limits_.rows))
        .todo("send fewer at a time");
  HONE_TRY(check_ids(job.ids, config_.vocab));
  return queue_.submit(std::move(job));
}

std::vector<RowEngine::Waiting> RowEngine::take() {
  int64_t rows = 0, tokens = 0, places = 0;
  return queue_.take([&](const RowJob& j) {
    ++rows;
    tokens += static_cast<int64_t>(j.ids.size());
    places += static_cast<int64_t>(j.places.size());
    return rows <= limits_.rows && tokens <= limits_.tokens && places <= limits_.rows;
  });
}

void RowEngine::compute(std::vector<Waiting>& jobs) {
  const double begun = clock_.seconds();
  const Bound& b = bound_for(jobs);
  fill(b, jobs);
  const double filled = clock_.seconds();
  session_->run(b.program);
  const double computed = clock_.seconds();
  answer(b, jobs);
  count({.sequences = std::ssize(jobs),
         .input = filled - begun,
         .infer = computed - filled,
         .output = clock_.seconds() - computed});
}

// The smallest program that takes all tokens.
const RowEngine::Bound& RowEngine::bound_for(std::span<const Waiting> jobs) const {
  size_t tokens = 0;
  for (const Waiting& w : jobs) tokens += w.job.ids.size();
  const Bound* b = bound_.data();
  while (b->tokens < static_cast<int64_t>(tokens)) ++b;
  return *b;
}

void RowEngine::fill(const Bound& b, std::span<const Waiting> jobs) {
  const auto ids = b.inputs.get<int32_t>("ids"), positions = b.inputs.get<int32_t>("positions"),
             cu = b.inputs.get<int32_t>("cu_seqlens"),
             types = b.inputs.get_if<int32_t>("token_types"),
             rows = b.inputs.get_if<int32_t>("label_rows"),
             segments = b.inputs.get_if<int32_t>("segments");
  size_t at = 0, s = 0, place = 0;
  cu[0] = 0;
  for (const Waiting& w : jobs) {
    const RowJob& j = w.job;
    for (const int32_t p : j.places) rows[place++] = static_cast<int32_t>(at) + p;
    for (size_t i = 0; i < j.ids.size(); ++i, ++at) {
      ids[at] = j.ids[i];
      positions[at] = static_cast<int32_t>(i);
      if (!segments.empty()) segments[at] = static_cast<int32_t>(s);
      if (!types.empty()) types[at] = j.types.empty() ? 0 : j.types[i];
    }
    cu[++s] = static_cast<int32_t>(at);
  }
  std::fill(ids.begin() + static_cast<std::ptrdiff_t>(at), ids.end(), 0);
  std::fill(positions.begin() + static_cast<std::ptrdiff_t>(at), positions.end(), 0);
  if (!types.empty()) std::fill(types.begin() + static_cast<std::ptrdiff_t>(at), types.end(), 0);
  if (!segments.empty())
    std::fill(segments.begin() + static_cast<std::ptrdiff_t>(at), segments.end(), -1);
  if (!rows.empty()) std::fill(rows.begin() + static_cast<std::ptrdiff_t>(place), rows.end(), -1);
  std::fill(cu.begin() + static_cast<std::ptrdiff_t>(s) + 1, cu.end(), static_cast<int32_t>(at));
  count_positions(config_, ids, positions);
}

void RowEngine::answer(const Bound& b, std::span<Waiting> jobs) {
  if (!session_->check().ok()) {
    for (Waiting& w : jobs) std::exchange(w.job.done, {})(session_->check().error());
    return;
  }
  const bool masks = !b.inputs.get_if<int32_t>("label_rows").empty();
  const auto logits = b.outputs.get<const float>("logits");
  const bool tokens =
      config_.head == Head::token_classification || config_.head == Head::question_answering;
  const size_t width = logits.size() / static_cast<size_t>(tokens ? b.tokens : limits_.rows);
  size_t row = 0;
  for (Waiting& w : jobs) {
    const size_t own_rows = tokens ? w.job.ids.size() : masks ? w.job.places.size() : 1;
    BatchEngine::answer(w, logits.subspan(row * width, own_rows * width), "text");
    row += own_rows;
  }
}

void RowEngine::run() {
  compute_until_stop([&] { return take(); },
                     [&](std::vector<Waiting>& jobs) {
                       for (const Waiting& w : jobs) load_.prompt_tokens += std::ssize(w.job.ids);
                       compute(jobs);
                     });
}

}  // namespace hone
