// Random changes of training images with torchvision's distributions (transforms.v2). Random numbers are Philox
// of (seed, epoch, row), so an image is the same for any batch, worker or rank, and after a resume.
#pragma once

#include <cstdint>
#include <optional>

#include "base/core/philox.h"
#include "learn/images/decode.h"
#include "learn/images/processor.h"
#include "learn/images/resample.h"

namespace hone {

// The random numbers of a row in an epoch.
PhiloxStream row_random(uint64_t seed, int64_t epoch, int64_t row);
// Those of an optimizer step, for mixup and cutmix.
PhiloxStream step_random(uint64_t seed, int64_t step);

struct CropRange {
  double least_area = 0.08, most_area = 1;             // share of the image
  double least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;  // width by height
};
// RandomResizedCrop's box: ten tries, then the largest box in the middle within the ratios.
Box random_crop(int64_t width, int64_t height, const CropRange& range, PhiloxStream& random);

// ColorJitter: factors from [max(0, 1 - x), 1 + x], hue from [-hue, hue], in random order.
struct ColourJitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  bool any() const { return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0; }
};
void jitter_colours(Image& image, const ColourJitter& by, PhiloxStream& random);

enum class Policy { none, rand_augment, trivial_augment };
// RandAugment (Cubuk et al. 2019): `operations` of 14, each at `magnitude` of 31 steps. TrivialAugmentWide (Müller and
// Hutter 2021): one, at any of 31 wider steps. Pixels from outside are black.
void apply_policy(Image& image, Policy policy, int64_t operations, int64_t magnitude,
                  PhiloxStream& random, Image& memory);

// RandomErasing (Zhong et al. 2017): with this probability a box of 2 to 33 % of the area and a ratio of 0.3 to 3.3
// is set to the mean colour; ten tries.
std::optional<Box> random_erasing(int64_t width, int64_t height, double probability,
                                  PhiloxStream& random);

// The mix of the images of a step, each with the one before it in the step's order, and the first with the last.
struct Mix {
  double share = 1;  // of the image itself, in the labels; of mixup also in the pixels
  Box box;           // that cutmix takes from the other image; width 0: mixup
  bool any() const { return share < 1; }
};
struct MixSettings {
  double mixup_alpha = 0, cutmix_alpha = 0;  // of the Beta distribution of the share; 0: not used
  bool any() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
};
// One of both with equal chances.
Mix random_mix(const MixSettings& s, int64_t width, int64_t height, PhiloxStream& random);

// The steps for an evaluated row: a resize, so that the shorter side has `edge` pixels or (edge 0) to exact sides, then a cut of
// width x height in the middle; black where the image is smaller.
struct EvaluationTransform {
  int64_t width = 224, height = 224;
  int64_t edge = 0, resize_width = 224, resize_height = 224;
  Filter filter = Filter::bilinear;
};

// Those of a processor; `crop_pct`: the side of the cut by the resized side.
EvaluationTransform evaluation_transform(const ImageProcessor& p, double crop_pct, Filter filter);

// The steps from the bytes of a file to the pixels of a training row.
struct TrainingTransform {
  int64_t width = 224, height = 224;
  Filter filter = Filter::bilinear;
  CropRange crop;
  std::optional<EvaluationTransform> whole;  // in place of a random part
  double flip_probability = 0.5;
  ColourJitter jitter;
  Policy policy = Policy::none;
  int64_t operations = 2, magnitude = 9;  // of RandAugment
  double erasing_probability = 0;
};
// Memory that rows reuse.
struct TransformMemory {
  DecodeMemory decode;
  ResampleMemory resample;
  Image part, other;
};

// Errors: those of decode.h.
Status training_pixels(std::string_view bytes, const TrainingTransform& t,
                       const DecodeLimits& limits, PhiloxStream random, Image& to,
                       std::optional<Box>& erased, TransformMemory& memory);
Status evaluation_pixels(std::string_view bytes, const EvaluationTransform& t,
                         const DecodeLimits& limits, Image& to, TransformMemory& memory);

}  // namespace hone
