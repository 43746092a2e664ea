// Vision transformers (Dosovitskiy et al. 2020, arXiv 2010.11929): patches of an image as tokens after a token of
// the class, learned positions, which are interpolated to other sizes of images, blocks whose norms come before attention
// and MLP.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The differences of a family.
struct VitStyle {
  const char* prefix = "vit.";  // of the body's weights
  bool distils = false;         // a second token comes after the class's (DeiT, arXiv 2012.12877)
  // Sublayers are scaled by channel and dropped by image, and the head also reads the mean of the patches (DINOv2, arXiv
  // 2304.07193).
  bool dino = false;
};

// The family with everything but its name, model types and body.
Family vit_family(Family f);
Status read_vit_config(ModelConfig& c);
// -> [B,C], of the first token of each image; dino: [B,2C].
ValueId vit_body(ModelGraph& g, const VitStyle& style);

}  // namespace hone
