#include "learn/models/image_layers.h"

#include <numeric>

#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/timm_config.h"
#include "learn/models/torchvision.h"

namespace hone {

constexpr size_t kMostStages = 16;

ConvLayer square_conv(int64_t kernel, int64_t stride, int64_t out, int64_t groups) {
  const int64_t p = kernel / 2;
  ConvLayer o{.kernel_h = kernel, .kernel_w = kernel, .groups = groups};
  o.windows.stride = {stride, stride};
  o.windows.padding = {p, p, p, p};
  // torch's fan_out of a weight [K,C/groups,h,w] is K h w.
  o.std = std::sqrt(2.0 / static_cast<double>(out * kernel * kernel));
  return o;
}

ConvLayer patch_conv(int64_t height, int64_t width) {
  ConvLayer o{.kernel_h = height, .kernel_w = width, .bias = true};
  o.windows.stride = {height, width};
  return o;
}

ValueId conv2d(ModelGraph& g, const std::string& at, ValueId x, int64_t out, const ConvLayer& o) {
  const int64_t in = g.b.type(x).shape[3];
  ParamSpec spec{at + ".weight", {out, in / o.groups, o.kernel_h, o.kernel_w}};
  spec.std = o.std < 0 ? g.init_std : o.std;
  const ValueId w = g.weight(std::move(spec));
  const ValueId bias = o.bias ? g.zeros(at + ".bias", out) : kNoValue;
  return ops::conv2d(g.b, x, w, bias, o.windows, o.groups);
}

namespace {

ValueId scalar(Builder& b, double v) { return ops::constant(b, v, {DType::f32, {}}); }

// A state of a batch norm that is not trained.
ValueId statistic(ModelGraph& g, const std::string& name, Shape shape, ParamSpec::Init init) {
  ParamSpec spec{name, std::move(shape), init, 0, false};
  spec.trained = false;
  spec.moves = true;
  return g.weight(std::move(spec));
}

void set_next(ModelGraph& g, ValueId state, ValueId next) {
  g.b.program().state_of(state)->next = next;
}

// old + momentum (new - old)
ValueId moved(Builder& b, ValueId old_value, ValueId new_value, double momentum) {
  return ops::add(b, ops::mul(b, old_value, scalar(b, 1 - momentum)),
                  ops::mul(b, new_value, scalar(b, momentum)));
}

}  // namespace

ValueId batch_norm(ModelGraph& g, const std::string& at, ValueId x, const BatchNormLayer& o) {
  Builder& b = g.b;
  const Shape shape = b.type(x).shape;
  const int64_t channels = shape.back(), pixels = shape[1] * shape[2];
  const ValueId gamma = g.weight({at + ".weight", {channels}, ParamSpec::Init::ones, 0, false});
  const ValueId beta = g.zeros(at + ".bias", channels);
  const ValueId mean = statistic(g, at + ".running_mean", {channels}, ParamSpec::Init::zeros),
                variance = statistic(g, at + ".running_var", {channels}, ParamSpec::Init::ones),
                batches = statistic(g, at + ".num_batches_tracked", {}, ParamSpec::Init::zeros);
  const ValueId rows = ops::reshape(b, x, {shape[0] * pixels, channels});
  const ValueId residual =
      o.residual == kNoValue ? kNoValue : ops::reshape(b, o.residual, b.type(rows).shape);
  const auto acted = [&](ValueId y) { return o.act.empty() ? y : activate(b, y, o.act); };
  if (g.mode != ModelGraph::Mode::train || g.config.adapter) {
    const ValueId scale = ops::div(b, gamma, ops::sqrt(b, ops::add(b, variance, scalar(b, o.eps))));
    const ValueId shift = ops::sub(b, beta, ops::mul(b, mean, scale));
    ValueId y = ops::affine_channels(b, rows, scale, shift);
    if (residual != kNoValue) y = ops::add(b, y, residual);
    return ops::reshape(b, acted(y), shape);
  }
  ValueId present = kNoValue, count = scalar(b, static_cast<double>(shape[0] * pixels));
  if (g.image_count != kNoValue) {
    present =
        ops::mul(b, g.image_count, ops::constant(b, static_cast<double>(pixels), {DType::i32, {}}));
    count = ops::cast(b, present, DType::f32);
  }
  const bool relu = o.act == "relu";
  const ops::BatchNorm n = ops::batch_norm(
      b, rows, gamma, beta, {.eps = o.eps, .rows = present, .residual = residual, .relu = relu});
  const ValueId others = ops::maximum(b, ops::sub(b, count, scalar(b, 1)), scalar(b, 1));
  const ValueId unbiased = ops::mul(b, n.variance, ops::div(b, count, others));
  set_next(g, mean, moved(b, mean, n.mean, o.momentum));
  set_next(g, variance, moved(b, variance, unbiased, o.momentum));
  set_next(g, batches, ops::add(b, batches, scalar(b, 1)));
  return ops::reshape(b, relu ? n.y : acted(n.y), shape);
}

ValueId drop_path(ModelGraph& g, ValueId x, double p) {
  if (g.mode != ModelGraph::Mode::train || p == 0) return x;
  const Shape shape = g.b.type(x).shape;
  const int64_t rows = g.b.type(x).count() / std::max<int64_t>(1, shape.back());
  const ValueId flat = ops::reshape(g.b, x, {rows, shape.back()});
  return ops::reshape(g.b, ops::drop_path(g.b, flat, g.rng, g.image_ids, p, g.b.scope()), shape);
}

ValueId scaled_channels(ModelGraph& g, const std::string& name, ValueId x, double first) {
  const int64_t channels = g.b.type(x).shape[1];
  const bool by_place = is_torchvision_layout(g.config);
  ParamSpec spec{name, by_place ? Shape{channels, 1, 1} : Shape{channels}, ParamSpec::Init::ones};
  spec.ones = first;
  spec.decay = !is_timm_layout(g.config);
  const ValueId scale = g.weight(std::move(spec));
  return ops::affine_channels(g.b, x, by_place ? ops::reshape(g.b, scale, {channels}) : scale);
}

ValueId rows_of_places(Builder& b, ValueId x) {
  const Shape shape = b.type(x).shape;
  return ops::reshape(b, x, {shape[0] * shape[1] * shape[2], shape[3]});
}

ValueId mean_of_places(ModelGraph& g, ValueId x) {
  Builder& b = g.b;
  const int64_t images = b.type(g.pixels).shape[0], channels = b.type(x).shape[1],
                places = b.type(x).shape[0] / images;
  return ops::global_pool(b, ops::reshape(b, x, {images, places, 1, channels}));
}

ValueId for_images(ModelGraph& g, ValueId table) {
  const Shape shape = g.b.type(table).shape;
  const ValueId rows = ops::reshape(g.b, table, {shape[1], shape[2]});
  return ops::broadcast(g.b, rows, {g.b.type(g.pixels).shape[0], shape[1], shape[2]}, {1, 2});
}

void make_sequences(ModelGraph& g, int64_t tokens) {
  Builder& b = g.b;
  const int64_t images = b.type(g.pixels).shape[0];
  const ValueId length = ops::constant(b, static_cast<double>(tokens), {DType::i32, {}});
  g.cu_seqlens = ops::mul(b, ops::iota(b, {DType::i32, {images + 1}}, 0), length);
  g.positions = ops::reshape(b, ops::iota(b, {DType::i32, {images, tokens}}, 1), {images * tokens});
  if (g.image_ids != kNoValue)
    g.sample_ids =
        ops::reshape(b, ops::broadcast(b, g.image_ids, {images, tokens}, {0}), {images * tokens});
}

HeadLayer image_classifier(ModelGraph& g, const std::string& at, ValueId x) {
  const int64_t labels = g.config.labels;
  const ValueId weight = g.matrix(at + ".weight", labels, g.b.type(x).shape[1]);
  return {x, weight, g.zeros(at + ".bias", labels)};
}

Result<std::pair<int64_t, int64_t>> size_of_key(const ModelConfig& c, const char* key,
                                                int64_t otherwise) {
  const auto it = c.config.find(key);
  if (it == c.config.end() || it->is_null() || !it->is_array()) {
    const int64_t side = HONE_TRY(c.integer(key, otherwise));
    return std::pair{side, side};
  }
  const bool two = it->size() == 2 && (*it)[0].is_number_integer() && (*it)[1].is_number_integer();
  if (!two)
    return Error(
        err::kBadConfig,
        fmt::format("config.json: '{}' is {}, a number or a height and a width are expected", key,
                    it->dump()));
  const std::pair sizes{(*it)[0].get<int64_t>(), (*it)[1].get<int64_t>()};
  for (const int64_t size : {sizes.first, sizes.second})
    HONE_TRY(check_range(fmt::format("'{}'", key), size, 1, kLargestSize));
  return sizes;
}

Result<std::vector<int64_t>> numbers_of_key(const ModelConfig& c, const char* key,
                                            std::vector<int64_t> otherwise) {
  const auto it = c.config.find(key);
  if (it == c.config.end() || it->is_null()) return otherwise;
  std::vector<int64_t> all;
  if (it->is_array())
    for (const auto& v : *it)
      if (v.is_number_integer()) all.push_back(v.get<int64_t>());
  if (!it->is_array() || all.size() != it->size() || all.empty() || all.size() > kMostStages)
    return Error(
        err::kBadConfig,
        fmt::format("config.json: '{}' is {}, a list of numbers is expected", key, it->dump()));
  for (const int64_t v : all) HONE_TRY(check_range(fmt::format("'{}'", key), v, 1, kLargestSize));
  return all;
}

Status check_stages(ModelConfig& c, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& depths) {
  if (sizes.size() != depths.size())
    return Error(err::kBadConfig,
                 fmt::format("config.json: there are {} hidden_sizes and {} depths", sizes.size(),
                             depths.size()));
  c.layers = std::accumulate(depths.begin(), depths.end(), int64_t{0});
  return Ok{};
}

Status read_image_size(ModelConfig& c, const char* size_key, int64_t otherwise) {
  std::tie(c.image_height, c.image_width) = HONE_TRY(size_of_key(c, size_key, otherwise));
  c.channels = HONE_TRY(c.integer("num_channels", 3));
  return Ok{};
}

}  // namespace hone
