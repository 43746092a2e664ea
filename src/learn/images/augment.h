// Random augmentation of training images, with the distributions of torchvision (transforms.v2). The random numbers are
// Philox numbers of (seed, epoch, row), so the result does not depend on the batch, thread or rank, nor on a resume.
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
// The random numbers of an optimizer step, for mixup and cutmix.
PhiloxStream step_random(uint64_t seed, int64_t step);

// The boxes that random_crop() may choose.
struct CropRange {
  // Area of the box as a fraction of the image's area.
  double least_area = 0.08, most_area = 1;
  double least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;  // width of the box divided by its height
};
// The box of RandomResizedCrop for an image of this size. If ten random boxes do not fit into the image, returns the
// largest box in the middle of the image with an allowed ratio.
Box random_crop(int64_t width, int64_t height, const CropRange& range, PhiloxStream& random);

// The settings of ColorJitter. The factor of the brightness is drawn from [max(0, 1 - brightness), 1 + brightness], and
// the factors of contrast and saturation likewise. The shift of the hue is drawn from [-hue, hue], as a fraction of a
// full turn of the colour circle. The changes are made in random order. A setting of 0: no change of this kind.
struct ColourJitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  bool any() const { return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0; }
};
void jitter_colours(Image& image, const ColourJitter& by, PhiloxStream& random);

enum class Policy { none, rand_augment, trivial_augment };
// Applies a policy in place. RandAugment (Cubuk et al. 2019): applies `operations` operations, each chosen from 14,
// with the strength `magnitude` of 0 to 30. TrivialAugmentWide (Müller and Hutter 2021): applies one operation with a
// random strength of 0 to 30 on a wider scale. Pixels that come from outside the image are black. `memory` is scratch
// memory.
void apply_policy(Image& image, Policy policy, int64_t operations, int64_t magnitude,
                  PhiloxStream& random, Image& memory);

// Draws the box of RandomErasing (Zhong et al. 2017); the caller sets its pixels to the mean colour. A box is drawn
// with the given probability. It has 2 to 33 % of the image's area, and its width is 0.3 to 3.3 times its height.
// Returns none if no box is drawn, or if ten random boxes do not fit.
std::optional<Box> random_erasing(int64_t width, int64_t height, double probability,
                                  PhiloxStream& random);

// The mix of the images of a step: each image is mixed with the image before it in the order of the step, and the first
// image with the last.
struct Mix {
  // The weight of the image itself in the mixed label; with mixup also in the mixed pixels.
  double share = 1;
  Box box;  // cutmix: the part that is taken from the other image; width 0: mixup
  bool any() const { return share < 1; }
};
struct MixSettings {
  // Mix::share is drawn from the distribution Beta(alpha, alpha) with the alpha of the chosen method. With cutmix it is
  // then replaced by the exact fraction of the pixels outside the box. An alpha of 0: the method is not used.
  double mixup_alpha = 0, cutmix_alpha = 0;
  bool any() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
};
// Draws the mix of a step of images of this size. If mixup and cutmix are both used, each is chosen with probability
// 1/2.
Mix random_mix(const MixSettings& s, int64_t width, int64_t height, PhiloxStream& random);

// The transform of an image for evaluation: resizes it, then cuts out width x height pixels in the middle. The resize
// makes the shorter side `edge` pixels; if edge is 0, it makes the image resize_width x resize_height. Pixels outside
// the image are black.
struct EvaluationTransform {
  int64_t width = 224, height = 224;
  int64_t edge = 0, resize_width = 224, resize_height = 224;
  Filter filter = Filter::bilinear;
};

// The transform with the sizes of a processor. `crop_pct`: the side that is cut out, as a fraction of the side after
// the resize.
EvaluationTransform evaluation_transform(const ImageProcessor& p, double crop_pct, Filter filter);

// The transform of an image for training: a random crop, resized to width x height; a flip; the policy; colour jitter;
// random erasing.
struct TrainingTransform {
  int64_t width = 224, height = 224;
  Filter filter = Filter::bilinear;
  CropRange crop;
  std::optional<EvaluationTransform> whole;  // set: it is used instead of the random crop
  double flip_probability = 0.5;             // left to right
  ColourJitter jitter;
  Policy policy = Policy::none;
  int64_t operations = 2, magnitude = 9;  // for RandAugment: see apply_policy
  double erasing_probability = 0;
};
// Scratch memory. Use it again for later images, but only by one thread at a time.
struct TransformMemory {
  DecodeMemory decode;
  ResampleMemory resample;
  Image part, other;
};

// Decode the bytes of an image file, apply the transform, and write the pixels to `to`. training_pixels() sets `erased`
// to the box whose pixels the caller must set to the mean colour, or to none. Errors: H2960, H2961, H2962 as
// read_image_info and decode_part.
Status training_pixels(std::string_view bytes, const TrainingTransform& t,
                       const DecodeLimits& limits, PhiloxStream random, Image& to,
                       std::optional<Box>& erased, TransformMemory& memory);
Status evaluation_pixels(std::string_view bytes, const EvaluationTransform& t,
                         const DecodeLimits& limits, Image& to, TransformMemory& memory);

}  // namespace hone
