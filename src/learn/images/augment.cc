#include "learn/images/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "learn/images/image_ops.h"

namespace hone {
namespace {

constexpr uint64_t kBlocksOfRow = uint64_t{1} << 20;  // of Philox: more than a row uses
constexpr int kTries = 10;

double between(PhiloxStream& random, double low, double high) {
  return low + (high - low) * random.next_uniform();
}
// 0 ... count - 1.
int64_t pick(PhiloxStream& random, int64_t count) {
  return std::min(static_cast<int64_t>(random.next_uniform() * static_cast<double>(count)),
                  count - 1);
}
// exp of a number between the logarithms.
double ratio_between(PhiloxStream& random, double low, double high) {
  return std::exp(between(random, std::log(low), std::log(high)));
}
int64_t rounded(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

// A box of this share of the area and ratio; none if it does not fit.
std::optional<Box> box_of(int64_t width, int64_t height, double area, double ratio,
                          PhiloxStream& random) {
  const double pixels = static_cast<double>(width * height) * area;
  const int64_t w = rounded(std::sqrt(pixels * ratio)), h = rounded(std::sqrt(pixels / ratio));
  if (w < 1 || h < 1 || w > width || h > height) return std::nullopt;
  const int64_t y = pick(random, height - h + 1), x = pick(random, width - w + 1);
  return Box{x, y, w, h};
}

// A Gamma variate with scale 1 (Marsaglia and Tsang 2000).
double gamma_variate(double shape, PhiloxStream& random) {
  if (shape < 1) {
    const double u = 1 - random.next_uniform();
    return gamma_variate(shape + 1, random) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.next_normal(), v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1 - random.next_uniform();
    if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) return d * v;
  }
}

enum class Operation {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  colour,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
};
constexpr int64_t kOperations = 14;
constexpr int64_t kSteps = 31;  // of magnitudes

// The largest magnitudes of a policy.
struct Magnitudes {
  double shear, translate_x, translate_y, rotate, colour, bits;
};
Magnitudes magnitudes_of(Policy policy, const Image& image) {
  if (policy == Policy::trivial_augment) return {0.99, 32, 32, 135, 0.99, 6};
  return {0.3,
          150.0 / 331 * static_cast<double>(image.width),
          150.0 / 331 * static_cast<double>(image.height),
          30,
          0.9,
          4};
}

bool has_sign(Operation o) { return o >= Operation::shear_x && o <= Operation::sharpness; }

// `share` of the largest magnitude, 0 to 1, with a sign.
void apply_operation(Image& image, Operation o, const Magnitudes& most, double share,
                     Image& memory) {
  constexpr double kDegrees = 180 / std::numbers::pi;
  const double half_width = static_cast<double>(image.width) * 0.5,
               half_height = static_cast<double>(image.height) * 0.5;
  switch (o) {
    case Operation::identity:
      return;
    case Operation::shear_x:
      return transform(
          image, affine_map(0, 0, 0, std::atan(share * most.shear) * kDegrees, 0, 0, 0), memory);
    case Operation::shear_y:
      return transform(
          image, affine_map(0, 0, 0, 0, std::atan(share * most.shear) * kDegrees, 0, 0), memory);
    case Operation::translate_x:
      return transform(
          image,
          affine_map(0, std::trunc(share * most.translate_x), 0, 0, 0, half_width, half_height),
          memory);
    case Operation::translate_y:
      return transform(
          image,
          affine_map(0, 0, std::trunc(share * most.translate_y), 0, 0, half_width, half_height),
          memory);
    case Operation::rotate:
      return transform(image, affine_map(-share * most.rotate, 0, 0, 0, 0, half_width, half_height),
                       memory);
    case Operation::brightness:
      return change_brightness(image, 1 + share * most.colour);
    case Operation::colour:
      return change_saturation(image, 1 + share * most.colour);
    case Operation::contrast:
      return change_contrast(image, 1 + share * most.colour);
    case Operation::sharpness:
      return change_sharpness(image, 1 + share * most.colour, memory);
    case Operation::posterize:
      return posterize(image, static_cast<int>(std::nearbyint(8 - share * most.bits)));
    case Operation::solarize:
      return solarize(image, static_cast<int>(std::ceil(255 * (1 - share))));
    case Operation::autocontrast:
      return autocontrast(image);
    case Operation::equalize:
      return equalize(image);
  }
}

}  // namespace

PhiloxStream row_random(uint64_t seed, int64_t epoch, int64_t row) {
  return PhiloxStream(dropout_key(seed, static_cast<uint64_t>(epoch), scope_hash("image rows")),
                      static_cast<uint64_t>(row) * kBlocksOfRow);
}

PhiloxStream step_random(uint64_t seed, int64_t step) {
  return PhiloxStream(dropout_key(seed, static_cast<uint64_t>(step), scope_hash("image steps")));
}

Box random_crop(int64_t width, int64_t height, const CropRange& range, PhiloxStream& random) {
  for (int i = 0; i < kTries; ++i) {
    const double area = between(random, range.least_area, range.most_area);
    const double ratio = ratio_between(random, range.least_ratio, range.most_ratio);
    if (const auto box = box_of(width, height, area, ratio, random)) return *box;
  }
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  int64_t w = width, h = height;
  if (ratio < range.least_ratio)
    h = std::clamp<int64_t>(rounded(static_cast<double>(w) / range.least_ratio), 1, height);
  else if (ratio > range.most_ratio)
    w = std::clamp<int64_t>(rounded(static_cast<double>(h) * range.most_ratio), 1, width);
  return {(width - w) / 2, (height - h) / 2, w, h};
}

void jitter_colours(Image& image, const ColourJitter& by, PhiloxStream& random) {
  std::array<int, 4> order{0, 1, 2, 3};
  for (int64_t i = 3; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(pick(random, i + 1))]);
  const auto factor = [&](double x) { return between(random, std::max(0.0, 1 - x), 1 + x); };
  // Each number is drawn, so that one setting does not move the others.
  const double brightness = factor(by.brightness), contrast = factor(by.contrast),
               saturation = factor(by.saturation), hue = between(random, -by.hue, by.hue);
  for (const int which : order) {
    if (which == 0 && by.brightness > 0) change_brightness(image, brightness);
    if (which == 1 && by.contrast > 0) change_contrast(image, contrast);
    if (which == 2 && by.saturation > 0) change_saturation(image, saturation);
    if (which == 3 && by.hue > 0) change_hue(image, hue);
  }
}

void apply_policy(Image& image, Policy policy, int64_t operations, int64_t magnitude,
                  PhiloxStream& random, Image& memory) {
  const Magnitudes most = magnitudes_of(policy, image);
  if (policy == Policy::trivial_augment) operations = 1;
  if (policy == Policy::none) operations = 0;
  for (int64_t i = 0; i < operations; ++i) {
    const auto operation = static_cast<Operation>(pick(random, kOperations));
    const int64_t step = policy == Policy::trivial_augment ? pick(random, kSteps) : magnitude;
    const double sign = random.next_uniform() <= 0.5 && has_sign(operation) ? -1 : 1;
    apply_operation(image, operation, most,
                    sign * static_cast<double>(step) / static_cast<double>(kSteps - 1), memory);
  }
}

std::optional<Box> random_erasing(int64_t width, int64_t height, double probability,
                                  PhiloxStream& random) {
  if (random.next_uniform() >= probability) return std::nullopt;
  for (int i = 0; i < kTries; ++i) {
    const double area = between(random, 0.02, 0.33), ratio = ratio_between(random, 0.3, 3.3);
    const auto box = box_of(width, height, area, ratio, random);
    if (box && box->width < width && box->height < height) return box;
  }
  return std::nullopt;
}

Mix random_mix(const MixSettings& s, int64_t width, int64_t height, PhiloxStream& random) {
  Mix mix;
  if (!s.any()) return mix;
  const bool second = random.next_uniform() < 0.5;
  const bool cuts = s.cutmix_alpha > 0 && (s.mixup_alpha <= 0 || second);
  const double alpha = cuts ? s.cutmix_alpha : s.mixup_alpha;
  const double a = gamma_variate(alpha, random), b = gamma_variate(alpha, random);
  mix.share = a + b > 0 ? a / (a + b) : 0.5;
  if (!cuts) return mix;
  const int64_t x = pick(random, width), y = pick(random, height);
  const double r = 0.5 * std::sqrt(1 - mix.share);
  const auto half_width = static_cast<int64_t>(r * static_cast<double>(width)),
             half_height = static_cast<int64_t>(r * static_cast<double>(height));
  const int64_t left = std::max<int64_t>(x - half_width, 0),
                top = std::max<int64_t>(y - half_height, 0),
                right = std::min(x + half_width, width), bottom = std::min(y + half_height, height);
  mix.box = {left, top, right - left, bottom - top};
  mix.share =
      1 - static_cast<double>(mix.box.width * mix.box.height) / static_cast<double>(width * height);
  if (mix.share >= 1) mix = Mix{};
  return mix;
}

EvaluationTransform evaluation_transform(const ImageProcessor& p, double crop_pct, Filter filter) {
  const auto wider = [&](int64_t side) {
    return static_cast<int64_t>(std::floor(static_cast<double>(side) / crop_pct));
  };
  return {p.width, p.height, wider(p.edge), wider(p.resize_width), wider(p.resize_height), filter};
}

Status training_pixels(std::string_view bytes, const TrainingTransform& t,
                       const DecodeLimits& limits, PhiloxStream random, Image& to,
                       std::optional<Box>& erased, TransformMemory& memory) {
  if (t.whole) {
    HONE_TRY(evaluation_pixels(bytes, *t.whole, limits, to, memory));
  } else {
    const ImageInfo info = HONE_TRY(read_image_info(bytes, limits));
    const Box crop = random_crop(info.width(), info.height(), t.crop, random);
    const Box part = HONE_TRY(decode_part(bytes, info, crop, memory.part, memory.decode));
    // The crop is resized as an image of its own.
    resample(memory.part, {part.x - crop.x, part.y - crop.y, part.width, part.height},
             {crop.width, crop.height, t.width, t.height, {0, 0, t.width, t.height}, t.filter}, to,
             memory.resample);
  }
  if (random.next_uniform() < t.flip_probability) flip_left_right(to);
  apply_policy(to, t.policy, t.operations, t.magnitude, random, memory.other);
  if (t.jitter.any()) jitter_colours(to, t.jitter, random);
  erased = random_erasing(t.width, t.height, t.erasing_probability, random);
  return Ok{};
}

Status evaluation_pixels(std::string_view bytes, const EvaluationTransform& t,
                         const DecodeLimits& limits, Image& to, TransformMemory& memory) {
  const ImageInfo info = HONE_TRY(read_image_info(bytes, limits));
  const int64_t width = info.width(), height = info.height();
  Resize r{width, height, t.resize_width, t.resize_height, {}, t.filter};
  if (t.edge > 0) {
    const bool upright = width <= height;
    const int64_t longer = t.edge * std::max(width, height) / std::min(width, height);
    r.out_width = upright ? t.edge : longer, r.out_height = upright ? longer : t.edge;
  }
  // The cut in the middle, of which only the part within the image is computed.
  const auto begin = [](int64_t all, int64_t cut) {
    return all < cut ? -((cut - all) / 2) : rounded(static_cast<double>(all - cut) / 2);
  };
  const Box cut{begin(r.out_width, t.width), begin(r.out_height, t.height), t.width, t.height};
  const int64_t left = std::max<int64_t>(cut.x, 0), top = std::max<int64_t>(cut.y, 0);
  r.window = {left, top, std::min(cut.x + cut.width, r.out_width) - left,
              std::min(cut.y + cut.height, r.out_height) - top};
  const Box part = HONE_TRY(decode_part(bytes, info, input_box(r), memory.part, memory.decode));
  const bool padded = r.window != cut;
  resample(memory.part, part, r, padded ? memory.other : to, memory.resample);
  if (padded) copy_box(memory.other, {cut.x - left, cut.y - top, cut.width, cut.height}, to);
  return Ok{};
}

}  // namespace hone
