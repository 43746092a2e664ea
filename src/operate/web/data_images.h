// Images for the page "Data" of hone ui: the images of a folder as rows, and the bytes of one image. A "folder of
// classes" has one subfolder with images for each class.
#pragma once

#include <functional>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"
#include "operate/http/request.h"
#include "operate/web/data_places.h"

namespace hone {

// The images [from, from + count) of a folder of classes, or of a folder with images, as rows: {"columns", "more",
// "notes", "rows"}. "more" is true if the folder has images after these. Error H2964: the folder has no images, or
// cannot be read.
Result<OrderedJson> image_folder_rows(const DataPlaces& places, const std::string& folder,
                                      int64_t from, int64_t count);

// Finds the image that a cell of the data file `file` names. `text` is the cell's text: a path relative to the folder
// of `file`, or a path that DataPlaces::find() understands. Returns the image's name for DataPlaces::find(); nullopt if
// the text does not name an image in the folders of `places`.
std::optional<std::string> image_named_by(const DataPlaces& places, const std::string& file,
                                          const std::string& text);

// An answer with status 200, `bytes` as its body and their Content-Type. Error H3502: `bytes` are not an image file.
Result<WebAnswer> image_answer(std::string bytes);
// image_answer() for the file at a path in the folders of `places`. Errors: H3503 the folders have no such file; H3502
// the file is not an image of at most 16 MiB.
Result<WebAnswer> image_file_answer(const DataPlaces& places, const std::string& path);

}  // namespace hone
