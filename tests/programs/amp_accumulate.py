# mixed precision + gradient accumulation, from a template
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

device = 'cuda' if torch.cuda.is_available() else 'cpu'
use_amp = device == 'cuda'
torch.backends.cudnn.benchmark = True
torch.manual_seed(0)
if torch.cuda.is_available():
    torch.cuda.manual_seed_all(0)


class RandomImages(Dataset):
    def __init__(self, n=96, seed=0):
        rs = np.random.RandomState(seed)
        self.labels = rs.randint(0, 4, n)
        self.images = rs.randn(n, 3, 16, 16).astype('float32') * 0.5
        for i, l in enumerate(self.labels):
            self.images[i, l % 3, (l // 2) * 8:(l // 2) * 8 + 8] += 1.0

    def __getitem__(self, i):
        return self.images[i], self.labels[i]

    def __len__(self):
        return len(self.labels)


class Block(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False), nn.GroupNorm(4, c_out), nn.ReLU(inplace=True),
            nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False), nn.GroupNorm(4, c_out))
        self.short = nn.Conv2d(c_in, c_out, 1, stride, bias=False) if stride != 1 or c_in != c_out else nn.Identity()

    def forward(self, x):
        return torch.relu_(self.body(x) + self.short(x))


model = nn.Sequential(Block(3, 8, 1), Block(8, 16, 2), Block(16, 16, 1), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(16, 4)).to(device)
criterion = nn.CrossEntropyLoss().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
scaler = torch.amp.GradScaler(device, enabled=use_amp)
loader = DataLoader(RandomImages(), batch_size=8, shuffle=True, num_workers=0, pin_memory=False)
accum_steps = 2

for epoch in range(2):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    for i, (images, labels) in enumerate(loader):
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        with torch.autocast(device_type=device, dtype=torch.float16 if use_amp else torch.bfloat16, enabled=use_amp):
            loss = criterion(model(images), labels) / accum_steps
        scaler.scale(loss).backward()
        if (i + 1) % accum_steps == 0:
            scaler.unscale_(optimizer)
            total_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        print('loss %.6f' % (loss.item() * accum_steps))
