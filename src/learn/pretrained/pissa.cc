#include "learn/pretrained/pissa.h"

#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/models/adapter_config.h"
#include "learn/models/errors.h"
#include "learn/pretrained/principal.h"
#include "learn/pretrained/quantized_state.h"

namespace hone {
namespace {

constexpr std::string_view kFirst = ".lora_A.weight", kSecond = ".lora_B.weight";

void write_values(Session& session, const std::string& name, const std::vector<float>& x) {
  const DType dtype = session.state_type(name).dtype;
  if (dtype == DType::f32) return session.write_state(name, std::as_bytes(std::span(x)));
  std::vector<std::byte> narrow(x.size() * static_cast<size_t>(size_of(dtype)));
  convert(Stored::f32, reinterpret_cast<const std::byte*>(x.data()), dtype, narrow.data(),
          std::ssize(x));
  session.write_state(name, narrow);
}

// Values of a state as it is now, and written to the disk as f32.
std::vector<float> values_of_state(const Session& session, const std::string& name) {
  ParamSpec spec;
  spec.name = name;
  return weight_values(session, spec);
}

std::vector<float> turned(const std::vector<float>& x, int64_t rows, int64_t columns) {
  std::vector<float> out(x.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[static_cast<size_t>(j * rows + i)] = x[static_cast<size_t>(i * columns + j)];
  return out;
}

// The two matrices of a layer W [m,n]; W becomes the rest.
struct FirstMatrices {
  std::vector<float> a, b;
};
FirstMatrices split_layer(const Adapter& adapter, const std::string& layer, std::vector<float>& w,
                          int64_t m, int64_t n, ThreadPool& threads) {
  const int64_t r = adapter.rank_of(layer);
  const double scale = adapter.scale_of(layer);
  const PrincipalParts parts =
      adapter.principal_turns < 0 ? principal_parts(w, m, n, r, threads)
                                  : principal_parts_by_iteration(
                                        w, m, n, r, adapter.principal_turns, adapter.seed, threads);
  FirstMatrices out{std::vector<float>(static_cast<size_t>(r * n)),
                    std::vector<float>(static_cast<size_t>(m * r))};
  const auto root = [&](int64_t k) {
    return std::sqrt(parts.values[static_cast<size_t>(k)] / scale);
  };
  for (int64_t k = 0; k < r; ++k)
    for (int64_t j = 0; j < n; ++j) {
      const auto i = static_cast<size_t>(k * n + j);
      out.a[i] = static_cast<float>(root(k) * parts.right[i]);
    }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t k = 0; k < r; ++k) {
      const auto at = static_cast<size_t>(i * r + k);
      out.b[at] = static_cast<float>(parts.left[at] * root(k));
    }
  threads.parallel_for(m, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i)
      for (int64_t k = 0; k < r; ++k) {
        const double by = scale * static_cast<double>(out.b[static_cast<size_t>(i * r + k)]);
        for (int64_t j = 0; j < n; ++j) {
          float& x = w[static_cast<size_t>(i * n + j)];
          x = static_cast<float>(static_cast<double>(x) -
                                 by * static_cast<double>(out.a[static_cast<size_t>(k * n + j)]));
        }
      }
  });
  return out;
}

Shape doubled(Shape shape, size_t axis) {
  shape[axis] *= 2;
  return shape;
}

// Trained rows and then the first ones.
std::vector<float> joined_rows(std::vector<float> now, const std::vector<float>& first) {
  now.insert(now.end(), first.begin(), first.end());
  return now;
}

// Each row: the trained numbers and then the negative first ones.
std::vector<float> joined_columns(const std::vector<float>& now, const std::vector<float>& first,
                                  size_t rank) {
  std::vector<float> out;
  for (size_t at = 0; at < now.size(); at += rank) {
    for (size_t k = 0; k < rank; ++k) out.push_back(now[at + k]);
    for (size_t k = 0; k < rank; ++k) out.push_back(-first[at + k]);
  }
  return out;
}

}  // namespace

Status take_principal_parts(Session& session, const ModelConfig& config) {
  const std::vector<ParamSpec> params = family_of(config).params(config);
  for (const std::string& layer : adapted_layers(config)) {
    const auto of = std::find_if(params.begin(), params.end(),
                                 [&](const ParamSpec& p) { return p.name == layer + ".weight"; });
    HONE_BUG_IF(of == params.end(), "no weight of the layer '{}'", layer);
    const std::string a = kAdapterPrefix + layer + std::string(kFirst),
                      b = kAdapterPrefix + layer + std::string(kSecond);
    if (!session.has_state(of->name)) continue;
    for (const std::string& name : {of->name, a, b})
      if (is_divided(session, name))
        return Error(err::kBadAdapter,
                     fmt::format("ranks divide '{}', and PiSSA begins with whole weights", name))
            .todo(
                "use --zero_stage 0 to 2 without --mesh tensor, or leave --init_lora_weights out");
    std::vector<float> w = weight_values(session, *of);
    const int64_t m = of->shape[of->in_out ? 1 : 0], n = of->shape[of->in_out ? 0 : 1];
    if (of->in_out) w = turned(w, n, m);
    const FirstMatrices first = split_layer(*config.adapter, layer, w, m, n, session.pool());
    write_values(session, of->name, of->in_out ? turned(w, m, n) : w);
    write_values(session, a, first.a);
    write_values(session, b, first.b);
    // The values that training begins with, in the type of the states.
    (*config.adapter->first)[a] = values_of_state(session, a);
    (*config.adapter->first)[b] = values_of_state(session, b);
  }
  return Ok{};
}

std::vector<TensorData> lora_of_pissa(const Session& session, const ModelConfig& config,
                                      std::vector<TensorData> tensors) {
  for (TensorData& t : tensors) {
    const auto first = config.adapter->first->find(t.name);
    if (first == config.adapter->first->end()) continue;
    const bool rows = t.name.ends_with(kFirst);
    const Shape shape = t.type.shape;
    std::vector<float> now = values_of_state(session, t.name);
    auto whole = std::make_shared<std::vector<float>>(
        rows ? joined_rows(std::move(now), first->second)
             : joined_columns(now, first->second, static_cast<size_t>(shape[1])));
    const std::optional<DType> as = t.as.value_or(t.type.dtype);
    t = {.name = t.name, .type = {DType::f32, doubled(shape, rows ? 0 : 1)}, .bytes = {}, .as = as};
    t.blocks = [whole](BlockSink sink) { return sink(std::as_bytes(std::span(*whole))); };
  }
  return tensors;
}

std::shared_ptr<const Adapter> lora_of_pissa(const Adapter& adapter) {
  auto out = std::make_shared<Adapter>(adapter);
  out->first = nullptr;
  // alpha / rank stays, or alpha / sqrt(rank).
  const double by = adapter.rslora ? std::sqrt(2.0) : 2.0;
  out->r *= 2;
  out->alpha *= by;
  for (auto& [pattern, rank] : out->ranks) rank *= 2;
  for (auto& [pattern, alpha] : out->alphas) alpha *= by;
  return out;
}

}  // namespace hone
