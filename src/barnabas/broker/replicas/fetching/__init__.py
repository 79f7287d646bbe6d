"""What a broker does as a follower: it copies from the leaders, after it has cut off what they do not have."""
