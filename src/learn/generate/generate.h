// Text generation with a KV cache. Start reading learn/generate here.
//   GenerationConfig config;  // config.h
//   HONE_TRY(apply_generation_json(config, model.generation_config, "generation_config.json"));
//   auto limits = limits_for(prompts, config, model.config, 8);
//   auto generator = HONE_TRY(Generator::make(model, limits, backend));
//   std::vector<Generated> all = HONE_TRY(generator->run(prompts, config));
// In this example at most 8 prompts run together; their lengths may differ. When a prompt is done, the next one takes
// its place. A prompt gives the same tokens as if it ran alone, and the same as Transformers 5.23 in f32. Random draws
// depend on the seed, the index of the prompt and the index of the sequence, not on other prompts.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "learn/generate/batcher.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// Called on the thread of run(); either may be empty.
struct GenerateCallbacks {
  // Called for each new token, when it is chosen; not called with beam search.
  std::function<void(size_t prompt, size_t sequence, int32_t token)> token;
  // Called once for each prompt, when all its sequences are done.
  std::function<void(std::vector<Generated>)> done;
};

// H2504: a prompt is empty or has an id that is not below `vocab`. H2503: a prompt is so long that no new token fits
// into the maximum length. `positions`: the model's maximum length.
Status check_prompts(std::span<const Prompt> prompts, const GenerationConfig& config, int64_t vocab,
                     int64_t positions);

// Checks the sources of an encoder-decoder; accepts all prompts of other models. H2504: a source is empty or has an id
// outside the encoder's vocabulary. H2503: a source is longer than the model's positions.
Status check_sources(std::span<const Prompt> prompts, const ModelConfig& model);

// The cache limits to run `batch` of the prompts at a time: rows for `batch` prompts, and the lengths of the longest
// prompt, sequence and source among all prompts.
CacheLimits limits_for(std::span<const Prompt> prompts, const GenerationConfig& config,
                       const ModelConfig& model, int64_t batch);

class Generator {
 public:
  // Compiles the programs, allocates all memory and reads the weights. Prompts given to run() must stay within
  // `limits`. `backend` must outlive the generator. Errors: those of build_cached_programs(), Session, load_weights().
  static Result<std::unique_ptr<Generator>> make(const Pretrained& model, const CacheLimits& limits,
                                                 const Backend& backend);
  // A generator on a session that already has the programs of build_cached_programs(model.config, limits), such as a
  // training session. It uses the session's current weights. `session` must outlive the generator.
  static std::unique_ptr<Generator> over(Session& session, const Pretrained& model,
                                         const CacheLimits& limits);

  // Generates for all prompts. The results are sorted by prompt, then by sequence. Errors: those of
  // check_generation() (H2501), check_prompts() and check_sources() (H2503, H2504); H2502 stop strings without a
  // tokenizer; those of Batcher::Request::done (H2505, H2507). The first error ends the run.
  Result<std::vector<Generated>> run(std::span<const Prompt> prompts,
                                     const GenerationConfig& config,
                                     const GenerateCallbacks& callbacks = {});

  const Session& session() const { return *session_; }
  // Totals of all runs so far.
  const Batcher::Times& times() const { return batcher_->times(); }

 private:
  Generator() = default;
  void begin(Session& session, const Pretrained& model, const CacheLimits& limits);

  std::optional<Session> own_;
  Session* session_ = nullptr;
  ModelConfig config_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<CachedModel> model_;
  std::unique_ptr<Batcher> batcher_;
};

}  // namespace hone
