// Finds credentials for AWS and S3-compatible object stores, and signs requests (Signature Version 4).
//
// The first of these sources that has credentials counts; the order is that of AWS's own tools:
//   1. the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN if it is set
//   2. the profile $AWS_PROFILE, or "default", in ~/.aws/credentials and ~/.aws/config (other files:
//      AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE)
//   3. the token in the file AWS_WEB_IDENTITY_TOKEN_FILE, together with the role AWS_ROLE_ARN
//   4. the credentials server of a container, at AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI
//   5. the metadata server of an EC2 machine (IMDSv2), unless AWS_EC2_METADATA_DISABLED is true
#pragma once

#include <mutex>
#include <string>

#include "base/store/credentials/profile.h"
#include "base/store/http.h"

namespace hone {

struct AwsKeys {
  std::string id, secret, session;  // access key id, secret access key, session token ("": none)
  double end = 1e18;                // the time at which they expire, in Clock::wall_seconds()
  std::string source;               // the source, for messages
};

class AwsCredentials {
 public:
  explicit AwsCredentials(HttpClient::Options http = {});

  // Returns the keys. If the id is empty, there are no credentials: do not sign requests (public buckets accept them).
  // Keys that expire are fetched again in their last five minutes; if that fails, the old keys are returned until they
  // expire. `renew` true: the server refused the last keys, so fetch others now. Errors: H0119 the credentials cannot
  // be used, H0107 a server of credentials cannot be reached.
  Result<AwsKeys> keys(bool renew = false);

  std::string region() const;  // from AWS_REGION, AWS_DEFAULT_REGION or the profile; "": not set
  // The URL of an S3-compatible server, from AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile; "": not set.
  std::string endpoint() const;

 private:
  Result<AwsKeys> find();
  Result<AwsKeys> from_web_identity();
  Result<AwsKeys> from_container();
  Result<AwsKeys> from_machine();
  std::string profile_value(const std::string& key) const;

  HttpClient::Options options_;
  Profile config_, secrets_;
  std::string profile_, secrets_path_;
  std::mutex mutex_;
  bool found_ = false;
  double asked_ = 0;  // the time at which the last search ended
  AwsKeys keys_;
};

// The parts of a request that the signature covers
// (docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
struct AwsRequest {
  // path: the %-encoded path of the URL. payload: the SHA-256 of the body in hexadecimal, or UNSIGNED-PAYLOAD.
  std::string method, path, service = "s3", region, payload;
  std::vector<std::pair<std::string, std::string>> query;  // names and %-encoded values, any order
  HttpHeaders headers;  // the headers to sign, "host" among them; names in lower case
};
// Returns the headers to add to the request: authorization, x-amz-date, x-amz-content-sha256 and, if the keys have a
// session token, x-amz-security-token. `wall_seconds` is the time of the signature, in seconds since 1970 UTC.
HttpHeaders sign_aws(const AwsRequest& request, const AwsKeys& keys, double wall_seconds);

}  // namespace hone
