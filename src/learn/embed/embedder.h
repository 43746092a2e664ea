// Embeddings of many texts. Texts of like length are packed into one run without padding, and come out in the order
// in which they came.
//
//   auto embedder = HONE_TRY(TextEmbedder::make(model, backend, {}));     // a model after embed_with()
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
  int64_t tokens = 2048;  // of a run, unless a text has more
  int64_t texts = 256;    // of a run
  WeightStorage weights = WeightStorage::f32;
};

class TextEmbedder {
 public:
  // `model` and `backend` must outlive it. Errors: those of compiling and of the weights.
  static Result<std::unique_ptr<TextEmbedder>> make(const Pretrained& model, const Backend& backend,
                                                    const EmbedLimits& limits);
  int64_t width() const { return width_; }      // numbers of an embedding
  int64_t longest() const { return longest_; }  // tokens of a text, at most
  // out: width() floats for each row. Called after each run with the number of texts that are done. Errors: H2415 an
  // id that the model lacks, H1323 a device fails, H2505 an embedding is not finite.
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
  std::vector<Bound> bound_;  // by rising tokens
};

}  // namespace hone
