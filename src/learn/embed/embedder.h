// Computes the embeddings of many texts. Texts of similar length are packed into one run of the model, without
// padding. The results are in the order of the input.
//
// A model after embed_with().
//   auto embedder = HONE_TRY(TextEmbedder::make(model, backend, {}));
//   HONE_TRY(embedder->embed(rows, out));                                 // rows of token ids
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/passes/store_weights.h"
#include "engine/session/session.h"
#include "learn/harness/port_batch.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct EmbedLimits {
  // Largest number of tokens in a run; raised to longest() if longest() is larger.
  int64_t tokens = 2048;
  int64_t texts = 256;                         // largest number of texts in a run
  WeightStorage weights = WeightStorage::f32;  // element type of the matrices in memory
};

class TextEmbedder {
 public:
  // Compiles the programs and reads the weights. `model` must have been prepared by embed_with() (sentence_modules.h);
  // it and `backend` must outlive the embedder. Errors: those of Session::compile() and load_weights().
  static Result<std::unique_ptr<TextEmbedder>> make(const Pretrained& model, const Backend& backend,
                                                    const EmbedLimits& limits);
  int64_t width() const { return width_; }      // number of elements of an embedding
  int64_t longest() const { return longest_; }  // largest number of tokens that a text may have
  // Computes an embedding for each text. rows[i] has the token ids of text i: at least one id and at most longest().
  // `out`: [rows, width()]. `progress` is called after each run of the model with the number of texts that are done.
  // Errors: H2415 an id is not in the model's vocabulary; H2505 an embedding is not finite; the error of a device that
  // failed, such as H1323.
  Status embed(std::span<const std::vector<int32_t>> rows, std::span<float> out,
               const std::function<void(int64_t done)>& progress = nullptr);

 private:
  struct Bound {
    size_t program;
    int64_t tokens;
    Batch inputs, outputs;
  };
  explicit TextEmbedder(const Pretrained& model) : config_(model.config) {}
  const Bound& bound_for(int64_t tokens) const;
  Status run(std::span<const std::vector<int32_t>> rows, std::span<const size_t> chosen,
             std::span<float> out);

  const ModelConfig& config_;
  EmbedLimits limits_;
  int64_t width_ = 0, longest_ = 0;
  std::optional<Session> session_;
  std::vector<Bound> bound_;  // in ascending order of tokens
};

}  // namespace hone
