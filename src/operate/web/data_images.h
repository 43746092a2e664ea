// Images on the page Data: folders of classes as rows, and the bytes of one image.
#pragma once

#include <functional>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"
#include "operate/http/request.h"
#include "operate/web/data_places.h"

namespace hone {

// Rows [from, from + count) of a folder of classes, or of images alone: {"rows", "columns", "more", "classes"}. Errors: H2964.
Result<OrderedJson> image_folder_rows(const DataPlaces& places, const std::string& folder,
                                      int64_t from, int64_t count);

// The path of the image that a text of a data file names, relative to the file or to the folders; nothing if it is not a
// file in them.
std::optional<std::string> image_named_by(const DataPlaces& places, const std::string& file,
                                          const std::string& text);

// Status 200 with the bytes and their type. H3502: they are not an image.
Result<WebAnswer> image_answer(std::string bytes);
// The image at a path in the folders. Errors: H3503 outside of them, H3502.
Result<WebAnswer> image_file_answer(const DataPlaces& places, const std::string& path);

}  // namespace hone
