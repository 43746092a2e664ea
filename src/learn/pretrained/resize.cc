#include "learn/pretrained/resize.h"

#include <cmath>
#include <map>

#include "base/core/philox.h"
#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/safetensors/derived_weights.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/weights.h"

namespace hone {
namespace {

constexpr double kShareOfCovariance = 1e-9;

// The elements that a tensor gets after its own, in row-major order.
struct Grown {
  Shape shape;
  std::vector<float> added;
};

class ResizedWeights final : public DerivedWeights {
 public:
  ResizedWeights(std::unique_ptr<WeightSource> base, std::map<std::string, Grown> grown)
      : DerivedWeights(std::move(base)), grown_(std::move(grown)) {
    for (TensorInfo t : base_->tensors()) {
      if (const auto found = grown_.find(t.name); found != grown_.end()) {
        t.type.shape = found->second.shape;
        t.scheme.clear();
        t.blocks.clear();
      }
      std::string name = t.name;
      take(std::move(t), std::move(name));
    }
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    const auto found = grown_.find(names_[index]);
    if (found == grown_.end()) return DerivedWeights::read_tensor(index, as, out);
    const std::vector<float>& added = found->second.added;
    const size_t own = out.size() - added.size() * static_cast<size_t>(size_of(as));
    HONE_TRY(base_->read(names_[index], as, out.first(own)));
    const std::string_view why =
        convert(Stored::f32, reinterpret_cast<const std::byte*>(added.data()), as, out.data() + own,
                static_cast<int64_t>(added.size()));
    return why.empty() ? Status(Ok{}) : Status(not_convertible(tensors_[index], as, why));
  }
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    return grown_.contains(names_[index]) ? WeightSource::read_elements_of(index, as, first, out)
                                          : DerivedWeights::read_elements_of(index, as, first, out);
  }

 private:
  const std::map<std::string, Grown> grown_;
};

// `count` rows near the mean of the rows of x [n,columns]. A sum of all centred rows, each times a
// normal number, has their covariance.
std::vector<float> rows_near_mean(std::span<const float> x, size_t columns, size_t count,
                                  const std::string& name) {
  const size_t n = x.size() / columns;
  std::vector<double> mean(columns), row(columns);
  for (size_t i = 0; i < x.size(); ++i) mean[i % columns] += static_cast<double>(x[i]);
  for (double& m : mean) m /= static_cast<double>(n);
  // Transformers too takes the mean alone where the covariance has no full rank.
  const double factor = n > columns ? std::sqrt(kShareOfCovariance / static_cast<double>(n)) : 0;
  PhiloxStream random(dropout_key(0, 0, scope_hash(name)));
  std::vector<float> rows;
  for (size_t r = 0; r < count; ++r) {
    row = mean;
    for (size_t i = 0; i < n && factor > 0; ++i) {
      const double by = factor * random.next_normal();
      for (size_t c = 0; c < columns; ++c)
        row[c] += by * (static_cast<double>(x[i * columns + c]) - mean[c]);
    }
    for (const double v : row) rows.push_back(static_cast<float>(v));
  }
  return rows;
}

Result<Grown> grown(const WeightSource& weights, const TensorInfo& t, const ParamSpec& spec,
                    int64_t entries) {
  const auto old = static_cast<size_t>(t.type.count());
  const size_t added = static_cast<size_t>(Type{DType::f32, spec.shape}.count()) - old;
  Grown g{spec.shape, std::vector<float>(added)};
  if (!spec.trained) return g;
  std::vector<float> x(old);
  HONE_TRY(weights.read(t.name, DType::f32, std::as_writable_bytes(std::span(x))));
  g.added =
      rows_near_mean(x, added / static_cast<size_t>(entries), static_cast<size_t>(entries), t.name);
  return g;
}

}  // namespace

Status resize_vocabulary(Pretrained& model, int64_t vocab) {
  const ModelConfig before = model.config;
  ModelConfig& c = model.config;
  if (before.source_vocab != 0 && before.source_vocab != before.vocab)
    return Error(err::kVocabularyLarger,
                 fmt::format("a model with vocabularies of {} and {} tokens cannot be resized",
                             before.source_vocab, before.vocab))
        .at(model.name)
        .todo("name the tokenizer that belongs to the model");
  c.vocab = vocab;
  if (c.source_vocab != 0) c.source_vocab = vocab;
  for (const char* key : {"vocab_size", "decoder_vocab_size"})
    if (c.config.contains(key)) c.config[key] = vocab;
  const std::vector<ParamSpec> old = family_of(before).params(before), now = family_of(c).params(c);
  HONE_BUG_IF(old.size() != now.size(), "a vocabulary of {} ids has other weights", vocab);
  std::map<std::string, Grown> all;
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i].shape == now[i].shape) continue;
    model.resized.push_back(now[i].name);
    if (!model.weights) continue;
    const TensorInfo* t = find_weight(*model.weights, before, old[i]);
    if (t == nullptr || t->type.shape != old[i].shape) continue;  // check_weights names it
    all[t->name] = HONE_TRY(grown(*model.weights, *t, now[i], vocab - before.vocab));
  }
  if (model.weights)
    model.weights = std::make_unique<ResizedWeights>(std::move(model.weights), std::move(all));
  return Ok{};
}

}  // namespace hone
