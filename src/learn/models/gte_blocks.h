// GTE's encoder (Zhang et al. 2024, arXiv 2407.19669): BERT's with rotary positions and gated MLPs.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The family with everything but its name and model types. A family named "new" has the keys of the
// code that first came with the models.
Family gte_family(Family f);

}  // namespace hone
