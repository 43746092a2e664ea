// The encoder of GTE (Zhang et al. 2024, arXiv 2407.19669): as BERT's, with rotary positions and gated MLPs.
#pragma once

#include "learn/models/family.h"

namespace hone {

// Adds to `f` everything but its name and model types. The family named "new" has the config.json keys of the code
// that was first published with the models.
Family gte_family(Family f);

}  // namespace hone
