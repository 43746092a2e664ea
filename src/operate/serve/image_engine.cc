#include "operate/serve/image_engine.h"

#include <algorithm>

#include "engine/passes/pipelines.h"
#include "learn/data/batches/batch.h"
#include "learn/models/image_model.h"

namespace hone {
namespace {

// Input pixels f32[B,H,W,3]; output logits f32[B,labels].
Result<Program> image_rows_program(const ModelConfig& config, const ImageProcessor& size,
                                   int64_t images) {
  Program p(op_table(), fmt::format("images_{}", images));
  Builder b(p);
  ModelGraph g(b, config, ModelGraph::Mode::eval);
  HONE_TRY(add_image_inputs(g, images, size.height, size.width));
  add_model_states(g, false);
  const HeadLayer layer = model_head(g);
  {
    Builder::Scope head(b, "head");
    p.outputs.push_back({"logits", logits_of(b, layer)});
  }
  HONE_TRY(run_passes(p, forward_pipeline(), {}));
  return p;
}

}  // namespace

Result<std::unique_ptr<ImageEngine>> ImageEngine::make(const Pretrained& model,
                                                       const ImageProcessor& processor,
                                                       int64_t images, const Backend& backend,
                                                       const EngineOptions& options) {
  std::unique_ptr<ImageEngine> e(new ImageEngine(options));
  e->table_ = processor.table();
  e->labels_ = static_cast<size_t>(model.config.labels);
  std::vector<Program> programs;
  std::vector<int64_t> sizes;
  for (int64_t n = 1;; n *= 2) {
    sizes.push_back(std::min(n, images));
    programs.push_back(HONE_TRY(image_rows_program(model.config, processor, sizes.back())));
    if (n >= images) break;
  }
  e->session_ = HONE_TRY(Session::compile(std::move(programs), backend));
  HONE_TRY(e->session_->allocate());
  HONE_TRY(load_weights(*e->session_, model));
  for (size_t i = 0; i < sizes.size(); ++i)
    e->bound_.push_back({i, sizes[i], inputs_of(*e->session_, i), outputs_of(*e->session_, i)});
  e->load_.rows = images;
  e->queue_.tell(e->load_);
  e->start();
  return e;
}

void ImageEngine::compute(std::vector<Waiting>& jobs) {
  const double begun = clock_.seconds();
  const Bound* b = bound_.data();  // the smallest program that takes all of them
  while (b->images < std::ssize(jobs)) ++b;
  fill(*b, jobs);
  const double filled = clock_.seconds();
  session_->run(b->program);
  const double computed = clock_.seconds();
  answer(*b, jobs);
  count({.sequences = std::ssize(jobs),
         .input = filled - begun,
         .infer = computed - filled,
         .output = clock_.seconds() - computed});
}

void ImageEngine::fill(const Bound& b, std::span<const Waiting> jobs) const {
  const auto pixels = b.inputs.get<float>("pixels");
  size_t at = 0;
  for (const Waiting& w : jobs) {
    const std::vector<uint8_t>& from = w.job.pixels.pixels;
    for (size_t i = 0; i + 4 <= from.size(); i += 4)
      for (size_t c = 0; c < 3; ++c) pixels[at++] = table_[c][from[i + c]];
  }
  std::fill(pixels.begin() + static_cast<std::ptrdiff_t>(at), pixels.end(), 0.0F);
}

void ImageEngine::answer(const Bound& b, std::span<Waiting> jobs) {
  if (!session_->check().ok()) {
    for (Waiting& w : jobs) std::exchange(w.job.done, {})(session_->check().error());
    return;
  }
  const auto logits = b.outputs.get<const float>("logits");
  for (size_t i = 0; i < jobs.size(); ++i) {
    BatchEngine::answer(jobs[i], logits.subspan(i * labels_, labels_), "image");
  }
}

void ImageEngine::run() {
  const auto take = [&] {
    int64_t taken = 0;
    return queue_.take([&](const ImageJob&) { return ++taken <= bound_.back().images; });
  };
  compute_until_stop(take, [&](std::vector<Waiting>& jobs) { compute(jobs); });
}

}  // namespace hone
