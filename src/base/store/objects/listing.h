// Parses the answers of object stores: lists of objects, the metadata of one object, and errors. Prefixes: gs is Google
// Cloud Storage (JSON), s3 is S3 (XML), az is Azure Blob storage (XML).
#pragma once

#include <string_view>

#include "base/core/json.h"
#include "base/store/objects/bucket.h"

namespace hone {

// Parses the resource of an object in Google's JSON API; nullopt if it has no name or no generation.
std::optional<ObjectInfo> gs_object(const Json& resource);
// Parse the answer to a list request. Objects whose keys are not safe (is_safe_key) are in ObjectPage::unsafe. `name`
// is the bucket's name for messages. Error H0108 if the text is not a list of objects.
Result<ObjectPage> gs_listing(std::string_view body, const std::string& name);
Result<ObjectPage> s3_listing(std::string_view body, const std::string& name);
Result<ObjectPage> az_listing(std::string_view body, const std::string& name);

// The text of an element of an XML error answer, as in xml_text(body, "Code"); "" if there is no such element.
std::string xml_text(std::string_view body, const char* element);

// The MD5 in hexadecimal that an ETag of S3 contains; "" for an object that was uploaded in parts, whose ETag is not an
// MD5.
std::string md5_of_etag(std::string_view etag);
// Converts base64 to lower-case hexadecimal; "" if the text is not base64.
std::string hex_of_base64(const std::string& text);

}  // namespace hone
