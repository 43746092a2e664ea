// Text generation with a KV cache. Start reading the room here.
//   GenerationConfig config;  // config.h
//   HONE_TRY(apply_generation_json(config, model.generation_config, "generation_config.json"));
//   auto limits = limits_for(prompts, config, model.config, 8);
//   auto generator = HONE_TRY(Generator::make(model, limits, backend));
//   std::vector<Generated> all = HONE_TRY(generator->run(prompts, config));
// Prompts of different lengths run together, and each gives the same tokens as alone. The next
// prompt takes a free slot. Tokens equal those of Transformers 5.23 in f32. Samples depend on
// (seed, index of the prompt, index of the sequence), not on other prompts.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "learn/generate/batcher.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct GenerateCallbacks {
  std::function<void(size_t prompt, size_t sequence, int32_t token)>
      token;                                         // as they come; not for beams
  std::function<void(std::vector<Generated>)> done;  // of one prompt, as soon as it is done
};

// Checks that every prompt has tokens of the vocabulary and room for a new one. `positions` is the
// model's maximum.
Status check_prompts(std::span<const Prompt> prompts, const GenerationConfig& config, int64_t vocab,
                     int64_t positions);

// For encoder-decoders: checks that every source has tokens of the vocabulary and at most the
// model's positions.
Status check_sources(std::span<const Prompt> prompts, const ModelConfig& model);

// The limits for `batch` prompts at a time: their rows and the longest of all.
CacheLimits limits_for(std::span<const Prompt> prompts, const GenerationConfig& config,
                       const ModelConfig& model, int64_t batch);

class Generator {
 public:
  // Compiles the programs, allocates all memory and reads the weights. Prompts must stay within the
  // limits.
  static Result<std::unique_ptr<Generator>> make(const Pretrained& model, const CacheLimits& limits,
                                                 const Backend& backend);
  // A generator on a session that already has the programs of build_cached_programs(model.config,
  // limits). It uses the session's current weights; both must outlive the generator.
  static std::unique_ptr<Generator> over(Session& session, const Pretrained& model,
                                         const CacheLimits& limits);

  // Results in the order of prompts and sequences. Errors: of settings and prompts H2502 to H2504;
  // H2505.
  Result<std::vector<Generated>> run(std::span<const Prompt> prompts,
                                     const GenerationConfig& config,
                                     const GenerateCallbacks& callbacks = {});

  const Session& session() const { return *session_; }
  // Times of all runs so far.
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
