// Swin (Liu et al. 2021, arXiv 2103.14030): attention within windows of patches, which every second layer shifts, with
// a bias by relative position; stages whose patches merge by four.
#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/image_layers.h"
#include "learn/models/image_model.h"
#include "learn/models/swin_windows.h"
#include "learn/models/timm_config.h"
#include "learn/models/torchvision.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualSwin =
    R"({"image_size": 224, "patch_size": 4, "num_channels": 3, "embed_dim": 96,
    "depths": [2, 2, 6, 2], "num_heads": [3, 6, 12, 24], "window_size": 7, "mlp_ratio": 4.0,
    "qkv_bias": true, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "drop_path_rate": 0.1, "hidden_act": "gelu", "use_absolute_embeddings": false,
    "initializer_range": 0.02, "layer_norm_eps": 1e-05, "encoder_stride": 32})";

constexpr double kInnerNormEps = 1e-5;  // of the norms outside of blocks, in Transformers

// Tokens of an image in a stage.
struct TokenGrid {
  int64_t rows = 0, columns = 0;
  TokenGrid half() const { return {(rows + 1) / 2, (columns + 1) / 2}; }
};

struct SwinConfig {
  int64_t patch_h = 4, patch_w = 4, width = 96, window = 7;
  std::vector<int64_t> depths, heads;
  double mlp_ratio = 4;
  bool absolute = false;

  int64_t channels(size_t stage) const { return width << stage; }
  // The patches of an image. Transformers fills up incomplete ones, the others leave them out.
  TokenGrid tokens(int64_t height, int64_t image_width, bool fills) const {
    if (!fills) return {height / patch_h, image_width / patch_w};
    return {(height + patch_h - 1) / patch_h, (image_width + patch_w - 1) / patch_w};
  }
};
Result<SwinConfig> swin_config(const ModelConfig& c) {
  SwinConfig s;
  std::tie(s.patch_h, s.patch_w) = HONE_TRY(size_of_key(c, "patch_size", 4));
  s.width = HONE_TRY(c.integer("embed_dim", 96));
  HONE_TRY(check_range("'embed_dim'", s.width, 1, kLargestSize >> 8));
  s.window = HONE_TRY(c.integer("window_size", 7));
  HONE_TRY(check_range("'window_size'", s.window, 1, kLargestImage / 2));
  s.depths = HONE_TRY(numbers_of_key(c, "depths", {2, 2, 6, 2}));
  s.heads = HONE_TRY(numbers_of_key(c, "num_heads", {3, 6, 12, 24}));
  s.mlp_ratio = c.real("mlp_ratio", 4);
  s.absolute = c.flag("use_absolute_embeddings", false);
  return s;
}

// The program whose layers these are: they differ at the edges of an image.
enum class SwinOf { transformers, timm, torchvision };

// The window of a stage and its shift, of a model that was made for these tokens.
struct StageWindow {
  int64_t height, width, shift_rows, shift_columns;
};
StageWindow window_of_stage(const SwinConfig& s, const TokenGrid& made_for, SwinOf program) {
  if (program != SwinOf::timm) {
    const int64_t shift = s.window / 2;
    return {s.window, s.window, shift, shift};
  }
  // timm has smaller windows where the image of its config is smaller.
  const auto shift = [&](int64_t tokens) { return tokens <= s.window ? 0 : s.window / 2; };
  return {std::min(s.window, made_for.rows), std::min(s.window, made_for.columns),
          shift(made_for.rows), shift(made_for.columns)};
}
// Windows over the tokens of a stage; a window that has all of them is not shifted, and in Transformers none is
// where one has all rows or all columns.
WindowGrid grid_of(const StageWindow& w, int64_t images, const TokenGrid& t, bool shifted,
                   SwinOf program) {
  WindowGrid grid{images, t.rows, t.columns, w.height, w.width};
  grid.fills_first = program != SwinOf::timm;
  const bool whole = program == SwinOf::transformers && std::min(t.rows, t.columns) <= w.height;
  if (!shifted || whole) return grid;
  grid.shift_rows = t.rows <= w.height ? 0 : w.shift_rows;
  grid.shift_columns = t.columns <= w.width ? 0 : w.shift_columns;
  return grid;
}

Status read_swin_config(ModelConfig& c) {
  const SwinConfig s = HONE_TRY(swin_config(c));
  if (s.heads.size() != s.depths.size())
    return Error(err::kBadConfig, fmt::format("config.json: there are {} num_heads and {} depths",
                                              s.heads.size(), s.depths.size()));
  for (size_t i = 0; i < s.heads.size(); ++i)
    if (s.channels(i) % s.heads[i] != 0)
      return Error(err::kBadConfig,
                   fmt::format("config.json: {} heads do not divide the {} channels of stage {}",
                               s.heads[i], s.channels(i), i));
  HONE_TRY(check_stages(c, s.heads, s.depths));
  c.hidden = s.channels(s.depths.size() - 1);
  c.heads = c.kv_heads = s.heads.back();
  c.head_dim = c.hidden / c.heads;
  HONE_TRY(check_range("the inner size of the MLP",
                       static_cast<int64_t>(s.mlp_ratio * static_cast<double>(c.hidden)), 1,
                       kLargestSize));
  HONE_TRY(check_activation(c, "hidden_act", "gelu"));
  HONE_TRY(read_image_size(c, "image_size", 224));
  HONE_TRY(check_range("the height of patches", s.patch_h, 1, c.image_height));
  HONE_TRY(check_range("the width of patches", s.patch_w, 1, c.image_width));
  c.any_image_size = !s.absolute;
  // The last stage has at least one window, whose table of biases has one size.
  const int64_t merged = int64_t{1} << (s.depths.size() - 1);
  const TokenGrid all = s.tokens(c.image_height, c.image_width, true);
  const int64_t tokens = (std::min(all.rows, all.columns) + merged - 1) / merged;
  c.least_image = std::max(s.patch_h, s.patch_w) * ((std::min(s.window, tokens) - 1) * merged + 1);
  return Ok{};
}

// Names of weights; those of a block come after the block's.
struct SwinNames {
  std::string patches, first, stages, last, head;
  const char *norm1 = "layernorm_before", *norm2 = "layernorm_after", *up = "intermediate.dense",
             *down = "output.dense", *attended = "attention.output.dense",
             *biases = "attention.self.relative_position_bias_table";
  const char* fused = nullptr;  // queries, keys and values together; null: three layers
  const char *blocks = "blocks.", *merging = "downsample.";
  SwinOf program = SwinOf::transformers;

  std::string stage(size_t i) const {
    return fmt::format("{}{}.", stages, program == SwinOf::torchvision ? 2 * i + 1 : i);
  }
  // The merging before stage i > 0: at the end of the stage before in Transformers, at the stage's beginning in timm.
  std::string merging_of(size_t i) const {
    if (program == SwinOf::torchvision) return fmt::format("{}{}.", stages, 2 * i);
    return stage(program == SwinOf::timm ? i : i - 1) + merging;
  }
};
SwinNames names_of_swin(const ModelConfig& c) {
  if (is_torchvision_layout(c))
    return {.patches = "features.0.0",
            .first = "features.0.2",
            .stages = "features.",
            .last = "norm",
            .head = "head",
            .norm1 = "norm1",
            .norm2 = "norm2",
            .up = "mlp.0",
            .down = "mlp.3",
            .attended = "attn.proj",
            .biases = "attn.relative_position_bias_table",
            .fused = "attn.qkv",
            .blocks = "",
            .program = SwinOf::torchvision};
  if (!is_timm_layout(c))
    return {"swin.embeddings.patch_embeddings.projection", "swin.embeddings.norm",
            "swin.encoder.layers.", "swin.layernorm", "classifier"};
  const std::string at = timm_prefix(c);
  return {.patches = at + "patch_embed.proj",
          .first = at + "patch_embed.norm",
          .stages = at + "layers.",
          .last = at + "norm",
          .head = at + "head.fc",
          .norm1 = "norm1",
          .norm2 = "norm2",
          .up = "mlp.fc1",
          .down = "mlp.fc2",
          .attended = "attn.proj",
          .biases = "attn.relative_position_bias_table",
          .fused = "attn.qkv",
          .program = SwinOf::timm};
}
std::string layout_of_swin(const std::function<bool(const std::string&)>& has) {
  if (has("features.1.0.attn.relative_position_index")) return kTorchvisionLayout;
  return timm_layout_of(has, {"layers.0.blocks.0.attn.qkv.weight"});
}

// Blocks of one stage that share their windows; x [T,C].
struct SwinStage {
  ModelGraph& g;
  const SwinNames& names;
  int64_t channels, heads;
  WindowGrid grid;
  double inner;  // channels of the MLP for each of x's
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  ValueId tokens = window_tokens(b, grid);
  ValueId mask = grid.is_shifted() ? window_mask(b, grid) : kNoValue;
  double eps = c.real("layer_norm_eps", 1e-5), drop = c.real("hidden_dropout_prob", 0);

  int64_t all_windows() const { return grid.images * grid.windows(); }
  // x [B N M, parts C] -> [parts B N, heads, M, C / heads], parts first
  ValueId by_head(ValueId x, int64_t parts) const {
    const int64_t n = all_windows(), m = grid.places(), d = channels / heads;
    const ValueId split = ops::reshape(b, x, {n, m, parts, heads, d});
    return ops::reshape(b, ops::transpose(b, split, {2, 0, 3, 1, 4}), {parts * n, heads, m, d});
  }

  // torchvision's files have the rows of relative positions, and it does not open a file without them.
  void keep_index(const std::string& at, int64_t places) const {
    ParamSpec spec{at + "attn.relative_position_index", {places * places}, ParamSpec::Init::zeros};
    spec.trained = spec.decay = false;
    g.weight(std::move(spec));
  }

  // The addend of the scores of each window, [heads M M] or [N heads M M] of shifted windows.
  ValueId biases(const std::string& at) const {
    const int64_t m = grid.places();
    ParamSpec spec{at + names.biases,
                   {(2 * grid.height - 1) * (2 * grid.width - 1), heads},
                   ParamSpec::Init::zeros};
    if (names.program != SwinOf::transformers)
      spec.init = ParamSpec::Init::normal, spec.std = g.init_std;
    spec.decay = false;
    if (names.program == SwinOf::torchvision) keep_index(at, m);
    const ValueId rows =
        ops::embedding(b, g.weight(std::move(spec)), relative_rows(b, grid.height, grid.width));
    const ValueId by_head = ops::transpose(b, rows, {1, 0});  // [heads, M M]
    if (mask == kNoValue) return ops::reshape(b, by_head, {heads * m * m});
    const Shape shape{grid.windows(), heads, m * m};
    const ValueId apart = ops::reshape(b, mask, {grid.windows(), m * m});
    const ValueId both = ops::add(b, ops::broadcast(b, by_head, shape, {1, 2}),
                                  ops::broadcast(b, apart, shape, {0, 2}));
    return ops::reshape(b, both, {b.type(both).count()});
  }

  // Shares of attention, [B N, heads, M, M].
  ValueId dropped(ValueId shares) const {
    const double p = c.real("attention_probs_dropout_prob", 0);
    if (g.mode != ModelGraph::Mode::train || p == 0) return shares;
    Builder::Scope s(b, "shares");
    const Shape shape = b.type(shares).shape;
    const int64_t m = shape.back(), rows = b.type(shares).count() / m, each = rows / grid.images;
    const ValueId ids = ops::broadcast(b, g.image_ids, {grid.images, each}, {0}),
                  places = ops::iota(b, {DType::i32, {grid.images, each}}, 1);
    return ops::reshape(
        b,
        ops::dropout(b, ops::reshape(b, shares, {rows, m}), g.rng, ops::reshape(b, ids, {rows}),
                     ops::reshape(b, places, {rows}), p, b.scope()),
        shape);
  }

  ValueId attend(ValueId q, ValueId k, ValueId v, ValueId added) const {
    const int64_t n = all_windows(), m = grid.places();
    const int64_t width = b.type(added).count();
    const double scale = 1 / std::sqrt(static_cast<double>(channels / heads));
    const ValueId factor = ops::constant(b, scale, {DType::f32, {width}});
    const ValueId scores =
        ops::reshape(b, ops::matmul(b, q, k, false, true), {n * heads * m * m / width, width});
    const ValueId shares = ops::softmax(
        b, ops::reshape(b, ops::affine_channels(b, scores, factor, added), {n, heads, m, m}));
    const ValueId out = ops::matmul(b, dropped(shares), v);  // [B N, heads, M, D]
    return ops::reshape(b, ops::transpose(b, out, {0, 2, 1, 3}), {n * m, channels});
  }

  // Attention of the norm's result, in the order of x.
  ValueId attention(const std::string& at, ValueId normed) const {
    const ValueId x = ops::gather_rows(b, normed, tokens);  // [B N M,C]
    make_sequences(g, grid.windows() * grid.places());      // dropout of adapters
    const LinearLayer own{.bias = c.flag("qkv_bias", true)};
    Values parts;
    if (names.fused != nullptr) {
      const int64_t n = all_windows();
      const ValueId all = by_head(g.linear(at + names.fused, x, 3 * channels, own), 3);
      for (int64_t i = 0; i < 3; ++i) parts.push_back(ops::slice(b, all, 0, i * n, (i + 1) * n));
    } else {
      for (const char* part : {"query", "key", "value"})
        parts.push_back(
            by_head(g.linear(fmt::format("{}attention.self.{}", at, part), x, channels, own), 1));
    }
    const ValueId out =
        g.linear(at + names.attended, attend(parts[0], parts[1], parts[2], biases(at)), channels);
    make_sequences(g, grid.rows * grid.columns);
    return ops::scatter_add_rows(b, tokens, out, b.type(normed).shape[0]);
  }

  // Zeros for whole images, at random.
  ValueId dropped_path(ValueId y, double rate) const {
    Builder::Scope s(b, "path");
    return drop_path(g, y, rate);
  }

  ValueId block(const std::string& at, ValueId x, double drop_rate) const {
    {
      Builder::Scope s(b, "attention");
      const ValueId y = attention(at, g.layer_norm(at + names.norm1, x, eps));
      x = ops::add(b, dropped_path(g.dropout(y, drop), drop_rate), x);
    }
    Builder::Scope s(b, "mlp");
    const ValueId normed = g.layer_norm(at + names.norm2, x, eps);
    const auto width = static_cast<int64_t>(inner * static_cast<double>(channels));
    const ValueId up =
        activate(b, g.linear(at + names.up, normed, width), c.text("hidden_act", "gelu"));
    const ValueId y = g.linear(at + names.down, up, channels);
    if (names.program == SwinOf::transformers)  // never drops the path of an MLP
      return g.dropout(y, drop, x);
    return ops::add(b, dropped_path(g.dropout(y, drop), drop_rate), x);
  }
};

// [B R W, C]
ValueId swin_embeddings(ModelGraph& g, const SwinConfig& s, const SwinNames& names) {
  Builder& b = g.b;
  Builder::Scope scope(b, "embeddings");
  const Shape pixels = b.type(g.pixels).shape;
  const TokenGrid t = s.tokens(pixels[1], pixels[2], names.program == SwinOf::transformers);
  ConvLayer cut = patch_conv(s.patch_h, s.patch_w);
  cut.windows.padding = {0, 0, std::max<int64_t>(0, t.rows * s.patch_h - pixels[1]),
                         std::max<int64_t>(0, t.columns * s.patch_w - pixels[2])};
  const int64_t tokens = t.rows * t.columns;
  ValueId x = ops::reshape(b, conv2d(g, names.patches, g.pixels, s.width, cut),
                           {pixels[0] * tokens, s.width});
  x = g.layer_norm(names.first, x, kInnerNormEps);
  make_sequences(g, tokens);
  if (s.absolute) {
    const ParamSpec spec{
        "swin.embeddings.position_embeddings", {1, tokens, s.width}, ParamSpec::Init::zeros};
    const ValueId places = for_images(g, g.weight(spec));
    x = ops::add(b, x, ops::reshape(b, places, {pixels[0] * tokens, s.width}));
  }
  return g.dropout(x, g.config.real("hidden_dropout_prob", 0));
}

// Four tokens as one of twice the channels.
ValueId merged(ModelGraph& g, const std::string& at, ValueId x, int64_t images,
               const TokenGrid& t) {
  Builder& b = g.b;
  const int64_t channels = b.type(x).shape[1];
  const ValueId ids = merged_tokens(b, images, t.rows, t.columns);
  x = ops::reshape(b, ops::gather_rows(b, x, ids), {b.type(ids).count() / 4, 4 * channels});
  x = g.layer_norm(at + "norm", x, kInnerNormEps);
  make_sequences(g, t.half().rows * t.half().columns);
  return g.linear(at + "reduction", x, 2 * channels, {.bias = false});
}

// -> [B R' W', C]
ValueId swin_body(ModelGraph& g) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const SwinConfig s = *swin_config(c);
  const SwinNames names = names_of_swin(c);
  const Shape pixels = b.type(g.pixels).shape;
  const bool fills = names.program == SwinOf::transformers;
  TokenGrid t = s.tokens(pixels[1], pixels[2], fills),
            made_for = s.tokens(c.image_height, c.image_width, fills);
  ValueId x = swin_embeddings(g, s, names);
  const double last = static_cast<double>(std::max<int64_t>(1, c.layers - 1));
  int64_t layer = 0;
  for (size_t i = 0; i < s.depths.size(); ++i) {
    ++g.depth;  // a stage's first block and what is before it are one group
    if (i > 0) {
      Builder::Scope scope(b, fmt::format("layers.{}.downsample", i - 1));
      x = merged(g, names.merging_of(i), x, pixels[0], t);
      t = t.half(), made_for = made_for.half();
    }
    const StageWindow window = window_of_stage(s, made_for, names.program);
    const auto stage = [&](bool shifted) {
      return SwinStage{g,
                       names,
                       s.channels(i),
                       s.heads[i],
                       grid_of(window, pixels[0], t, shifted, names.program),
                       s.mlp_ratio};
    };
    const SwinStage still = stage(false), shifted = stage(true);
    for (int64_t k = 0; k < s.depths[i]; ++k, ++layer) {
      Builder::Scope scope(b, fmt::format("layers.{}.blocks.{}", i, k));
      if (k > 0) ++g.depth;
      const double rate = c.real("drop_path_rate", 0.1) * static_cast<double>(layer) / last;
      const std::string at = fmt::format("{}{}{}.", names.stage(i), names.blocks, k);
      x = (k % 2 == 0 ? still : shifted).block(at, x, rate);
    }
  }
  return g.layer_norm(names.last, x, c.real("layer_norm_eps", 1e-5));
}

HeadLayer swin_head(ModelGraph& g, ValueId hidden) {
  const ValueId pooled = mean_of_places(g, hidden);
  g.of_head = true;
  ++g.depth;
  return image_classifier(g, names_of_swin(g.config).head, pooled);
}

}  // namespace

Family family_swin() {
  return {.name = "swin",
          .model_types = {{"swin", "Swin", kUsualSwin}},
          .heads = {{Head::image_classification, "ForImageClassification"}},
          .read_config = read_swin_config,
          .reads_text = false,
          .image_processor = "ViTImageProcessor",
          .body = swin_body,
          .head = swin_head,
          .dropouts = {"hidden_dropout_prob", "attention_probs_dropout_prob", "drop_path_rate"},
          .body_prefix = "swin.",
          .unread = {"relative_position_index", "attn_mask"},
          .layout = layout_of_swin};
}

}  // namespace hone
