print("usage: helm pull github://OWNER/REPOSITORY/TAG/FILE")
