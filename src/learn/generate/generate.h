// Text generation with a KV cache. Start reading the room here.
//
//   GenerationConfig config;  // config.h
//   HONE_TRY(apply_generation_json(config, model.generation_config, "generation_config.json"));
//   auto limits = limits_for(prompts, config, model.config, 8);
//   auto generator = HONE_TRY(Generator::make(model, limits, backend));
//   std::vector<Generated> all = HONE_TRY(generator->run(prompts, config));
//
// Prompts of different lengths run together, and each gives the tokens that it gives alone. A free
// slot goes to the next prompt. Tokens equal those of Transformers 5.23 in f32. Samples depend on
// (seed, index of the prompt, index of the sequence), not on what else runs.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "learn/generate/cached_model.h"
#include "learn/generate/config.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct Prompt {
  std::vector<int32_t> tokens;
  // Encoder-decoders: what the encoder reads; `tokens` are what the decoder starts with.
  std::vector<int32_t> source = {};
};

struct Generated {
  size_t prompt = 0;            // index
  size_t sequence = 0;          // of num_return_sequences
  std::vector<int32_t> tokens;  // new ones, the end token among them
  double score = 0;             // beams: sum of log probabilities / length^length_penalty
  bool ended = false;           // by an end token or stop string, not by the length
};

struct GenerateCallbacks {
  std::function<void(size_t prompt, size_t sequence, int32_t token)>
      token;                                         // as they come; not for beams
  std::function<void(std::vector<Generated>)> done;  // of one prompt, as prompts get done
};

// Every prompt has tokens of the vocabulary and room for a new one. `positions` is the model's
// maximum.
Status check_prompts(std::span<const Prompt> prompts, const GenerationConfig& config, int64_t vocab,
                     int64_t positions);

// For encoder-decoders: every source has tokens of the vocabulary and no more than the model's
// positions.
Status check_sources(std::span<const Prompt> prompts, const ModelConfig& model);

// What `batch` prompts at a time need: their rows and the longest of all.
CacheLimits limits_for(std::span<const Prompt> prompts, const GenerationConfig& config,
                       const ModelConfig& model, int64_t batch);

class Generator {
 public:
  // Compiles the programs, takes all memory and reads the weights. Prompts may need no more than
  // the limits.
  static Result<std::unique_ptr<Generator>> make(const Pretrained& model, const CacheLimits& limits,
                                                 const Backend& backend);
  // On a session that holds the programs of build_cached_programs(model.config, limits) among its
  // own, with the weights that it has at the time: both must outlive the generator.
  static std::unique_ptr<Generator> over(Session& session, const Pretrained& model,
                                         const CacheLimits& limits);

  // Results in the order of prompts and sequences. Errors: of settings and prompts H2502 to H2504; H2505.
  Result<std::vector<Generated>> run(std::span<const Prompt> prompts,
                                     const GenerationConfig& config,
                                     const GenerateCallbacks& callbacks = {});

  const Session& session() const { return *session_; }
  // Seconds and tokens of all runs so far.
  struct Times {
    double prefill = 0, decode = 0;
    int64_t prompt_tokens = 0, new_tokens = 0;
  };
  const Times& times() const { return times_; }

 private:
  class Work;
  Generator() = default;
  void begin(Session& session, const Pretrained& model, const CacheLimits& limits);

  std::optional<Session> own_;
  Session* session_ = nullptr;
  ModelConfig config_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<CachedModel> model_;
  Times times_;
};

}  // namespace hone
